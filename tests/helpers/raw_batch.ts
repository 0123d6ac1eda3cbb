import { crc32 } from "../../src/hash/crc32.ts";
import { crc32c } from "../../src/hash/crc32c.ts";

/** Fields of a v2 batch, to make odd ones; those not given are what a plain producer writes. */
export interface RawBatch {
  readonly baseOffset?: bigint;
  readonly partitionLeaderEpoch?: number;
  readonly magic?: number;
  readonly attributes?: number;
  readonly lastOffsetDelta?: number;
  readonly baseTimestamp?: bigint;
  readonly maxTimestamp?: bigint;
  readonly producerId?: bigint;
  readonly producerEpoch?: number;
  readonly baseSequence?: number;
  readonly recordCount?: number;
  /** The records' bytes, compressed or not. */
  readonly records?: Uint8Array;
}

/** A v2 batch with these fields and the right length and checksum. */
export function rawBatch(fields: RawBatch): Uint8Array {
  const { records = new Uint8Array(0) } = fields;
  const bytes = new Uint8Array(61 + records.length);
  const view = new DataView(bytes.buffer);
  const count = fields.recordCount ?? (records.length === 0 ? 0 : 1);
  view.setBigInt64(0, fields.baseOffset ?? 0n);
  view.setInt32(8, bytes.length - 12);
  view.setInt32(12, fields.partitionLeaderEpoch ?? -1);
  view.setInt8(16, fields.magic ?? 2);
  view.setInt16(21, fields.attributes ?? 0);
  view.setInt32(23, fields.lastOffsetDelta ?? Math.max(0, count - 1));
  view.setBigInt64(27, fields.baseTimestamp ?? 1700000000000n);
  view.setBigInt64(35, fields.maxTimestamp ?? 1700000000000n);
  view.setBigInt64(43, fields.producerId ?? -1n);
  view.setInt16(51, fields.producerEpoch ?? -1);
  view.setInt32(53, fields.baseSequence ?? -1);
  view.setInt32(57, count);
  bytes.set(records, 61);
  view.setUint32(17, crc32c(bytes.subarray(21)));
  return bytes;
}

/** Bytes of a signed varint of any size. */
export function varint(value: number | bigint): number[] {
  const v = BigInt(value);
  const bytes: number[] = [];
  let z = v < 0n ? -v * 2n - 1n : v * 2n;
  for (; z > 127n; z >>= 7n) bytes.push(Number(z & 127n) | 128);
  bytes.push(Number(z));
  return bytes;
}

/** The fields of a record as they stand after its length; each may be replaced by bytes that are wrong. */
export interface RawRecord {
  readonly timestampDelta?: number | bigint;
  readonly offsetDelta?: number;
  readonly key?: string | null;
  readonly value?: string | null;
  /** Header count and headers. */
  readonly headers?: readonly number[];
  /** Said length, if not the true one. */
  readonly length?: number;
}

/** A record of the v2 format. */
export function rawRecord(record: RawRecord = {}): Uint8Array {
  const text = (value: string | null | undefined) => {
    if (value === null || value === undefined) return varint(-1);
    const bytes = new TextEncoder().encode(value);
    return [...varint(bytes.length), ...bytes];
  };
  const body = [
    0,
    ...varint(record.timestampDelta ?? 0),
    ...varint(record.offsetDelta ?? 0),
    ...text(record.key),
    ...text(record.value),
    ...(record.headers ?? [0]),
  ];
  return Uint8Array.from([...varint(record.length ?? body.length), ...body]);
}

/** Parts one behind the other. */
export function concatenated(...parts: (Uint8Array | readonly number[])[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Fields of a message of the formats 0 and 1. */
export interface RawMessage {
  readonly offset?: bigint;
  readonly magic?: number;
  readonly attributes?: number;
  readonly timestamp?: bigint;
  readonly key?: Uint8Array | null;
  readonly value?: Uint8Array | null;
}

/** A message of format 0 or 1 with the right length and checksum. */
export function rawMessage(fields: RawMessage): Uint8Array {
  const { magic = 1, key = null, value = null } = fields;
  const head = magic === 0 ? 18 : 26;
  const bytes = new Uint8Array(head + 8 + (key?.length ?? 0) + (value?.length ?? 0));
  const view = new DataView(bytes.buffer);
  view.setBigInt64(0, fields.offset ?? 0n);
  view.setInt32(8, bytes.length - 12);
  view.setInt8(16, magic);
  view.setInt8(17, fields.attributes ?? 0);
  if (magic !== 0) view.setBigInt64(18, fields.timestamp ?? 1500000000000n);
  view.setInt32(head, key === null ? -1 : key.length);
  bytes.set(key ?? [], head + 4);
  const valueAt = head + 4 + (key?.length ?? 0);
  view.setInt32(valueAt, value === null ? -1 : value.length);
  bytes.set(value ?? [], valueAt + 4);
  view.setUint32(12, crc32(bytes.subarray(16)));
  return bytes;
}
