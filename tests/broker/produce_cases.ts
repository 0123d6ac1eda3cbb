/**
 * What a broker must refuse in a Produce request, and how it judges sequences: Kafka's answers. The embedded broker is held to
 * them in `embedded_broker_test.ts`; that Kafka gives them, in `tests/kafka/produce_rules_test.ts`.
 *
 * @module
 */
import { crc32c } from "../../src/hash/crc32c.ts";
import { fromHex } from "../helpers/hex.ts";
import { batchOf } from "../log/batch_of.ts";
import { CASE_BATCHES, type CaseName } from "../vectors/case_batches.ts";

/** Records as they are sent, and what is answered. */
export interface RefusedRecords {
  readonly name: string;
  readonly records: Uint8Array;
  /** Version of Produce; 9 when left out. */
  readonly version?: number;
  /** Kafka's error code. */
  readonly error: number;
  /** What Kafka answers where its validation itself falls over, and the embedded broker says what is wrong. */
  readonly kafkasError?: number;
}

/** One batch of a producer, and what is answered: the offset, or `error` and Kafka's number. */
export interface SequenceStep {
  readonly what: string;
  readonly sequence: number;
  readonly count: number;
  readonly epoch?: number;
  readonly answer: number | `error ${number}`;
}

const UNKNOWN_SERVER_ERROR = -1;
const CORRUPT_MESSAGE = 2;
const TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53;
const UNSUPPORTED_COMPRESSION_TYPE = 76;
const INVALID_RECORD = 87;

const vector = (name: CaseName) => fromHex(CASE_BATCHES[name]);

/** Computes the checksum of a changed batch anew. */
export function reseal(bytes: Uint8Array): Uint8Array {
  new DataView(bytes.buffer, bytes.byteOffset).setUint32(17, crc32c(bytes.subarray(21)));
  return bytes;
}

/** A batch of `values` with a producer's id, epoch and sequence in its header, by the positions of Kafka's format. */
export function sequenced(
  values: readonly string[],
  producerId: number,
  epoch: number,
  sequence: number,
): Uint8Array {
  const bytes = batchOf(values);
  const view = new DataView(bytes.buffer);
  view.setBigInt64(43, BigInt(producerId));
  view.setInt16(51, epoch);
  view.setInt32(53, sequence);
  return reseal(bytes);
}

/** R01 with a change. */
function changed(change: (bytes: Uint8Array, view: DataView) => void): Uint8Array {
  const bytes = vector("R01");
  change(bytes, new DataView(bytes.buffer));
  return reseal(bytes);
}

/** R01 with neither records nor a place for one. */
function emptied(): Uint8Array {
  const bytes = vector("R01").slice(0, 61);
  const view = new DataView(bytes.buffer);
  view.setInt32(8, 49);
  view.setInt32(57, 0);
  return reseal(bytes);
}

/** A batch of zstd data that is right but for the version it is sent in. */
const zstd = vector("C21");

/** Case 044. */
export const refusedRecords: readonly RefusedRecords[] = [
  { name: "H13, whose last offset does not fit its count", records: vector("H13"), error: INVALID_RECORD },
  {
    name: "two batches for one partition",
    records: new Uint8Array([...vector("R01"), ...vector("R01")]),
    error: INVALID_RECORD,
  },
  { name: "R04, without records", records: vector("R04"), error: INVALID_RECORD },
  {
    name: "a batch without records at offset 0",
    records: emptied(),
    error: INVALID_RECORD,
  },
  {
    name: "R05, a control batch from a client, of a transaction that the request does not name",
    records: vector("R05"),
    error: TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
  },
  { name: "a control batch at offset 0", records: changed((bytes) => bytes[22] = 0x20), error: INVALID_RECORD },
  {
    name: "H15, of codec 7",
    records: vector("H15"),
    error: UNSUPPORTED_COMPRESSION_TYPE,
    kafkasError: UNKNOWN_SERVER_ERROR,
  },
  { name: "L02, of format 1, in a version that knows only format 2", records: vector("L02"), error: INVALID_RECORD },
  { name: "R13's first half, with a bit flipped", records: vector("R13").slice(0, 69), error: CORRUPT_MESSAGE },
  { name: "zstd before version 7", records: zstd, version: 6, error: UNSUPPORTED_COMPRESSION_TYPE },
  {
    name: "a base offset that is not 0",
    records: changed((_, view) => view.setBigInt64(0, 5n)),
    error: INVALID_RECORD,
  },
  { name: "a batch that ends too early", records: vector("R01").slice(0, 65), error: INVALID_RECORD },
  { name: "a count that does not fit", records: changed((_, view) => view.setInt32(57, 9)), error: INVALID_RECORD },
  { name: "L01, of format 0", records: vector("L01"), error: INVALID_RECORD },
  { name: "no batch", records: new Uint8Array(0), error: INVALID_RECORD },
];

/** Case 043, and the broker's half of case 026. */
export const sequenceSteps: readonly SequenceStep[] = [
  ...[0, 1, 2, 3, 4, 5].map((i) => ({ what: `batch ${i}`, sequence: 2 * i, count: 2, answer: 2 * i })),
  ...[1, 2, 3, 4, 5].map((i) => ({ what: `batch ${i} again`, sequence: 2 * i, count: 2, answer: 2 * i })),
  { what: "the sixth from the end again", sequence: 0, count: 2, answer: "error 45" },
  { what: "the same first sequence, another last", sequence: 10, count: 1, answer: "error 45" },
  { what: "a gap of one", sequence: 13, count: 1, answer: "error 45" },
  { what: "a new epoch that starts at 5", sequence: 5, count: 1, epoch: 1, answer: "error 45" },
  { what: "a new epoch that starts at 0", sequence: 0, count: 1, epoch: 1, answer: 12 },
  { what: "the epoch before", sequence: 12, count: 1, answer: "error 47" },
];

/** Case 026: of a producer that the broker does not know, so that any first sequence is taken. */
export const wrapSteps: readonly SequenceStep[] = [
  { what: "up to the greatest sequence", sequence: 2147483646, count: 2, answer: 0 },
  { what: "0 after it", sequence: 0, count: 1, answer: 2 },
  { what: "1 after that", sequence: 1, count: 1, answer: 3 },
  { what: "the first again", sequence: 2147483646, count: 2, answer: 0 },
  { what: "0 again", sequence: 0, count: 1, answer: 2 },
];

/** Case 026: a batch on both sides of the greatest sequence. */
export const straddleSteps: readonly SequenceStep[] = [
  { what: "five records across the greatest sequence", sequence: 2147483646, count: 5, answer: 0 },
  { what: "the same again", sequence: 2147483646, count: 5, answer: 0 },
  { what: "3 after 2", sequence: 3, count: 1, answer: 5 },
  { what: "a gap", sequence: 5, count: 1, answer: "error 45" },
];
