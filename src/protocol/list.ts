/**
 * Lists in messages. Generated code hands in the function for an element: a constant one, so that nothing is allocated
 * but the list.
 *
 * @module
 */

import type { Reader } from "../bytes/reader.ts";
import type { Writer } from "../bytes/writer.ts";

/** Reads an element. */
export type ReadItem<T> = (r: Reader, version: number, flexible: boolean) => T;
/** Writes an element. */
export type WriteItem<T> = (w: Writer, item: T, version: number, flexible: boolean) => void;

/** Reads a list that cannot be null. */
export function readList<T>(r: Reader, version: number, flexible: boolean, item: ReadItem<T>): T[] {
  return readListOrNull(r, version, flexible, item) ?? r.unexpectedNull();
}

/** Reads a list that may be null. */
export function readListOrNull<T>(r: Reader, version: number, flexible: boolean, item: ReadItem<T>): T[] | null {
  const count = r.count(flexible);
  if (count < 0) return null;
  const items: T[] = [];
  for (let i = 0; i < count; i++) items.push(item(r, version, flexible));
  return items;
}

/** Writes a list, or null. */
export function writeList<T>(
  w: Writer,
  items: readonly T[] | null,
  version: number,
  flexible: boolean,
  item: WriteItem<T>,
): void {
  if (items === null) return w.count(-1, flexible);
  w.count(items.length, flexible);
  for (let i = 0; i < items.length; i++) item(w, items[i]!, version, flexible);
}

/** Reads an element of a list of 8-bit integers. */
export const readInt8 = (r: Reader): number => r.int8();
/** Reads an element of a list of 16-bit integers. */
export const readInt16 = (r: Reader): number => r.int16();
/** Reads an element of a list of 32-bit integers. */
export const readInt32 = (r: Reader): number => r.int32();
/** Reads an element of a list of 64-bit integers. */
export const readInt64 = (r: Reader): number => r.int64();
/** Reads an element of a list of UUIDs. */
export const readUuid = (r: Reader): string => r.uuid();
/** Reads an element of a list of strings. */
export const readString = (r: Reader, _version: number, flexible: boolean): string => r.textField(flexible);

/** Writes an element of a list of 8-bit integers. */
export const writeInt8 = (w: Writer, item: number): void => w.int8(item);
/** Writes an element of a list of 16-bit integers. */
export const writeInt16 = (w: Writer, item: number): void => w.int16(item);
/** Writes an element of a list of 32-bit integers. */
export const writeInt32 = (w: Writer, item: number): void => w.int32(item);
/** Writes an element of a list of 64-bit integers. */
export const writeInt64 = (w: Writer, item: number): void => w.int64(item);
/** Writes an element of a list of UUIDs. */
export const writeUuid = (w: Writer, item: string): void => w.uuid(item);
/** Writes an element of a list of strings. */
export const writeString = (w: Writer, item: string, _version: number, flexible: boolean): void =>
  w.text(item, flexible);
