/**
 * Integers of 64 bits as they are: a dump shows what a file holds, also what a JavaScript number cannot.
 *
 * @module
 */

/** An integer of 64 bits; a bigint only where a number would be rounded. */
export type Int64 = number | bigint;

/** The integer at `at`. */
export function int64At(view: DataView, at: number): Int64 {
  const value = view.getInt32(at) * 4294967296 + view.getUint32(at + 4);
  return Number.isSafeInteger(value) ? value : view.getBigInt64(at);
}

/** The exact sum. */
export function addInt64(a: Int64, b: Int64): Int64 {
  if (typeof a === "number" && typeof b === "number") {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return int64(BigInt(a) + BigInt(b));
}

/** A number where one holds it. */
export function int64(value: bigint): Int64 {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
