/**
 * Compares what Kafka says with what we say, as plain data, down to the innermost field.
 *
 * Integers beyond 2^53−1 are strings in `expected.json`, and typed errors with us: {@linkcode UNSAFE} stands for such an error
 * and matches only them.
 *
 * @module
 */

import { KafkaError } from "../../src/core/kafka_error.ts";

/** Plain data. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [field: string]: Json };

/** Stands for a typed error instead of an integer that a JavaScript number cannot hold. */
export const UNSAFE = "the typed error UNSAFE_INTEGER" as const;

/** At the end of a list: a typed error ended it there, because an integer was beyond what a JavaScript number can hold. */
export const UNSAFE_REST = "the typed error UNSAFE_INTEGER from here on" as const;

/** Our side: plain data too, with {@linkcode UNSAFE} among it. */
export type View = null | boolean | number | string | readonly View[] | { readonly [field: string]: View | undefined };

/** One place where we differ. */
export interface Mismatch {
  /** Where in `expected.json`, such as `batches[3].crc`. */
  readonly path: string;
  /** What Kafka says; undefined when it says nothing there. */
  readonly expected: Json | undefined;
  /** What we say; undefined when we say nothing there. */
  readonly actual: View | undefined;
}

/** Mismatches as they are found. */
export type Mismatches = AsyncGenerator<Mismatch, void, undefined>;

/** Answers each place where `actual` differs from `expected`. */
export function* differences(
  path: string,
  expected: Json | undefined,
  actual: View | undefined,
): Generator<Mismatch, void, undefined> {
  if (expected === actual) return;
  if (actual === UNSAFE) {
    if (!holdsUnsafe(expected)) yield { path, expected, actual };
  } else if (Array.isArray(expected) && Array.isArray(actual)) {
    yield* listDifferences(path, expected, actual);
  } else if (isFields(expected) && isFields(actual)) {
    for (const field of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      yield* differences(path === "" ? field : `${path}.${field}`, expected[field], actual[field] as View | undefined);
    }
  } else yield { path, expected, actual };
}

function* listDifferences(
  path: string,
  expected: readonly Json[],
  actual: readonly View[],
): Generator<Mismatch, void, undefined> {
  const endsUnsafe = actual.at(-1) === UNSAFE_REST;
  const given = endsUnsafe ? actual.slice(0, -1) : actual;
  for (let i = 0; i < Math.max(expected.length, given.length); i++) {
    // At least the element at which the error ended the list must be one that cannot be held.
    if (endsUnsafe && i >= given.length) yield* differences(`${path}[${i}]`, expected[i], UNSAFE);
    else yield* differences(`${path}[${i}]`, expected[i], given[i]);
  }
  if (endsUnsafe && given.length >= expected.length) {
    yield { path: `${path}[${given.length}]`, expected: undefined, actual: UNSAFE_REST };
  }
}

function isFields(value: unknown): value is { readonly [field: string]: never } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether `value` is an integer beyond 2^53−1 as `expected.json` writes it, or has one in it. */
function holdsUnsafe(value: Json | undefined): boolean {
  if (typeof value === "string") return /^-?\d{16,19}$/.test(value) && !Number.isSafeInteger(Number(value));
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(holdsUnsafe);
}

/** Whether `error` is the typed one for an integer that a JavaScript number cannot hold. */
export function isUnsafeInteger(error: unknown): boolean {
  return error instanceof KafkaError && error.code === "UNSAFE_INTEGER";
}

/** What `get` answers, or {@linkcode UNSAFE} for the typed error instead. */
export function exact<T>(get: () => T): T | typeof UNSAFE {
  try {
    return get();
  } catch (error) {
    if (isUnsafeInteger(error)) return UNSAFE;
    throw error;
  }
}

/** One line about a mismatch. */
export function mismatchText({ path, expected, actual }: Mismatch): string {
  return `${path}: Kafka has ${short(expected)}; we have ${short(actual)}`;
}

function short(value: View | undefined): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
