/**
 * Instructions of WebAssembly by name, for the kernels of the codecs; values are i32, comparisons take them as unsigned.
 *
 * @module
 */

import { type Code, END, unsigned } from "./assemble_wasm.ts";

const NO_RESULT = 0x40;
const LOCAL_GET = 0x20;
const LOCAL_SET = 0x21;
const I32_CONST = 0x41;

/** An operand: an instruction's result, or the number of a local. */
export type Operand = Code | number;

const operand = (value: Operand): Code => typeof value === "number" ? [LOCAL_GET, value] : value;
/** An operation on two values. */
export type WasmOperation = (left: Operand, right: Operand) => Code;
const binary = (opcode: number): WasmOperation => (left, right) => [operand(left), operand(right), opcode];

/** The constant `value`, from −64 to 63 or from 128 to 8,191. */
export const constant = (value: number): Code => [I32_CONST, value < 0 ? value & 0x7f : unsigned(value)];
/** Sets a local. */
export const set = (local: number, value: Operand): Code => [operand(value), LOCAL_SET, local];

/** The sum. */
export const add: WasmOperation = /* @__PURE__ */ binary(0x6a);
/** The difference. */
export const subtract: WasmOperation = /* @__PURE__ */ binary(0x6b);
/** The bits that both have. */
export const and: WasmOperation = /* @__PURE__ */ binary(0x71);
/** The bits that one of them has. */
export const or: WasmOperation = /* @__PURE__ */ binary(0x72);
/** The left one, shifted to the left. */
export const shiftLeft: WasmOperation = /* @__PURE__ */ binary(0x74);
/** The left one, shifted to the right; zeros come in. */
export const shiftRight: WasmOperation = /* @__PURE__ */ binary(0x76);
/** 1 if they are equal, else 0. */
export const equal: WasmOperation = /* @__PURE__ */ binary(0x46);
/** 1 if the left one is less, else 0. */
export const isBelow: WasmOperation = /* @__PURE__ */ binary(0x49);
/** 1 if the left one is greater, else 0. */
export const isAbove: WasmOperation = /* @__PURE__ */ binary(0x4b);
/** 1 if the left one is not less, else 0. */
export const isAtLeast: WasmOperation = /* @__PURE__ */ binary(0x4f);

/** The byte at an address. */
export const byteAt = (address: Operand): Code => [operand(address), 0x2d, 0, 0];
/** The two bytes at an address, the low one first. */
export const shortAt = (address: Operand): Code => [operand(address), 0x2f, 0, 0];
/** The four bytes at an address, the low one first. */
export const intAt = (address: Operand): Code => [operand(address), 0x28, 0, 0];
/** Copies a byte. */
export const copyByte = (to: Operand, from: Operand): Code => [operand(to), byteAt(from), 0x3a, 0, 0];
/** Copies 16 bytes. */
export const copyVector = (to: Operand, from: Operand): Code => [
  ...[operand(to), operand(from), 0xfd, 0x00, 0, 0],
  ...[0xfd, 0x0b, 0, 0],
];

/** Does the body, and again while `condition` holds behind it. */
export const repeatWhile = (condition: Code, ...body: Code[]): Code => [0x03, NO_RESULT, body, condition, 0x0d, 0, END];
/** Does the body again and again, until it answers. */
export const forever = (...body: Code[]): Code => [0x03, NO_RESULT, body, 0x0c, 0, END, 0x00];
/** Does the body if `condition` holds. */
export const when = (condition: Code, ...body: Code[]): Code => [condition, 0x04, NO_RESULT, body, END];
/** Does one of two. */
export const either = (condition: Code, then: Code, otherwise: Code): Code => [
  ...[condition, 0x04, NO_RESULT, then, 0x05, otherwise, END],
];
/** Ends the function, which answers `value`. */
export const answer = (value: Operand): Code => [operand(value), 0x0f];
