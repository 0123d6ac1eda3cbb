/**
 * The form of `expected.json`: what Kafka's own classes say of a partition's directory (tests/golden/README.md).
 *
 * Where a field is typed as a number, an integer beyond 2^53−1 is a string in the file.
 *
 * @module
 */

import type { Json } from "./differences.ts";

/** A whole `expected.json`. */
export interface ExpectedSet {
  /** Name of the partition's directory. */
  readonly partition: string;
  /** The topic's settings that are not the default. */
  readonly topicConfig: { readonly [name: string]: string };
  /** The files of the partition's directory. */
  readonly files: Json;
  /** The segments with their indexes as they lie there. */
  readonly segments: readonly ExpectedSegment[];
  /** Every batch. */
  readonly batches: readonly ExpectedBatch[];
  /** Every record. */
  readonly records: readonly Json[];
  /** Every producer snapshot. */
  readonly producerSnapshots: readonly { readonly file: string }[];
  /** The file `leader-epoch-checkpoint`. */
  readonly leaderEpochCheckpoint?: Json;
  /** The file `partition.metadata`. */
  readonly partitionMetadata?: Json;
  /** The snapshots of a KRaft log. */
  readonly checkpoints?: readonly ExpectedCheckpoint[];
  /** Payloads by Kafka's decoders. */
  readonly decoded?: readonly ExpectedPayload[];
  /** What a broker makes of the directory. */
  readonly opened: ExpectedLog;
  /** What a Java consumer is given. */
  readonly consumer?: { readonly [isolation: string]: ExpectedConsumer };
}

/** A segment. */
export interface ExpectedSegment {
  /** Base offset. */
  readonly baseOffset: number;
  /** Name of its `.log`. */
  readonly file: string;
  /** Entries of its offset index. */
  readonly offsetIndex?: readonly Json[];
  /** Entries of its time index. */
  readonly timeIndex?: readonly Json[];
  /** `[target, offset, position]` of floor look-ups. */
  readonly offsetIndexLookups?: readonly (readonly (number | string)[])[];
  /** `[target, timestamp, offset]` of floor look-ups. */
  readonly timeIndexLookups?: readonly (readonly (number | string)[])[];
}

/** A batch; its other fields are compared as they are. */
export interface ExpectedBatch {
  /** The file it is in. */
  readonly file: string;
  /** Number of its first record in the list of records. */
  readonly firstRecord: number;
  /** How many records it has. */
  readonly recordCount: number;
}

/** A `.checkpoint`. */
export interface ExpectedCheckpoint {
  /** Name of the file. */
  readonly file: string;
  /** Every batch. */
  readonly batches: readonly ExpectedBatch[];
  /** Every record. */
  readonly records: readonly Json[];
  /** Payloads. */
  readonly decoded: readonly ExpectedPayload[];
}

/** A payload by one of Kafka's decoders, whose name is the name of a field. */
export interface ExpectedPayload {
  /** Offset of the record. */
  readonly offset: number;
  /** What the decoder says. */
  readonly [field: string]: Json;
}

/** The log as a broker opens it. */
export interface ExpectedLog {
  /** Whether the last stop counted as a clean one. */
  readonly clean: boolean;
  /** What the log start offset's checkpoint said. */
  readonly logStartOffsetCheckpoint: number;
  /** What the recovery point's checkpoint said. */
  readonly recoveryPointCheckpoint: number;
  /** First visible offset. */
  readonly logStartOffset: number;
  /** Offset of the next record. */
  readonly logEndOffset: number;
  /** Segments, after the load. */
  readonly segments: readonly LoadedSegment[];
  /** Producers that are not too old; their order is that of a hash table. */
  readonly activeProducers: readonly {
    readonly producerId: number;
    readonly lastTimestamp: number;
    readonly currentTxnFirstOffset: number | null;
  }[];
  /** Reads and their answers. */
  readonly reads: readonly ExpectedRead[];
  /** `[asked, offset, timestamp, leaderEpoch]`, or `[asked, null]`. */
  readonly offsetByTimestamp: readonly (readonly (number | string | null)[])[];
  /** `[asked, epoch, endOffset]`. */
  readonly endOffsetForEpoch: readonly (readonly number[])[];
}

/** A segment of a log that was loaded. */
export interface LoadedSegment {
  /** Base offset. */
  readonly baseOffset: number;
  /** Bytes of batches. */
  readonly size: number;
  /** Offset after its last batch. */
  readonly nextOffset: number;
  /** Greatest timestamp. */
  readonly maxTimestampSoFar: number;
  /** Entries of its offset index. */
  readonly offsetIndexEntries: number;
  /** Entries of its time index. */
  readonly timeIndexEntries: number;
}

/** A read; the fields of its answer are compared as they are. */
export interface ExpectedRead {
  /** Offset asked for. */
  readonly offset: number | string;
  /** How far it may read. */
  readonly isolation: "LOG_END" | "HIGH_WATERMARK" | "TXN_COMMITTED";
  /** Most bytes. */
  readonly maxLength: number;
  /** Whether the first batch comes whole even when it is larger. */
  readonly minOneMessage: boolean;
}

/** What a consumer is given. */
export interface ExpectedConsumer {
  /** `[asked, offset, timestamp, leaderEpoch]`, or `[asked, null]`. */
  readonly offsetsForTimes: readonly (readonly (number | string | null)[])[];
}

/** Parses the text of an `expected.json`. */
export function parseExpected(text: string): ExpectedSet {
  // What Kafka's decoders print has large integers as numbers, which JSON.parse would round: strings, as everywhere else.
  const exact = text.replace(/"(?:[^"\\]|\\.)*"|-?\d{16,}/g, (token) => {
    return token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : `"${token}"`;
  });
  return JSON.parse(exact);
}

/** The partition that a directory's name tells. */
export function topicPartitionOf({ partition }: ExpectedSet): { topic: string; partition: number } {
  const hyphen = partition.lastIndexOf("-");
  return { topic: partition.slice(0, hyphen), partition: Number(partition.slice(hyphen + 1)) };
}
