/**
 * What a dump consists of, and what a form of output does with each piece of it.
 *
 * @module
 */

import type { KafkaError } from "../../core/kafka_error.ts";
import type { KafkaFileType } from "../../log/kafka_file_name.ts";
import type { OffsetCheckpointEntry } from "../../log/log_directory.ts";
import type { ProducerSnapshot } from "../../log/producer_snapshot.ts";
import type { Record as KafkaRecord } from "../../records/record.ts";
import type { BatchView, DecodedRecords } from "./batch_view.ts";
import type { Int64 } from "./int64.ts";

/** A file that is dumped. */
export interface DumpedFile {
  /** What to call it: its name, with the folder before it where several are dumped. */
  readonly label: string;
  /** Its name. */
  readonly name: string;
  /** What it is. */
  readonly type: KafkaFileType;
  /** The offset in its name; 0 where there is none. */
  readonly baseOffset: Int64;
  /** Bytes it has. */
  readonly size: number;
}

/** A batch with its records. */
export interface DumpedBatch {
  /** The file it lies in. */
  readonly file: DumpedFile;
  /** Its fields. */
  readonly view: BatchView;
  /** Whether its checksum is right. */
  readonly isValid: boolean;
  /** Whether it holds control records. */
  readonly isControl: boolean;
  /** Its records; undefined when they cannot be decoded or are not asked for. */
  readonly decoded: DecodedRecords | undefined;
  /** Why they cannot be decoded. */
  readonly error: KafkaError | undefined;
  /** Number of records before it in all that was dumped. */
  readonly firstRecord: number;
}

/** How the batches of a file ended. */
export interface DumpedEnd {
  /** Bytes of its whole batches. */
  readonly validBytes: number;
  /** Bytes behind the last whole batch. */
  readonly trailingBytes: number;
  /** What those bytes are, where they are not simply a batch that was cut. */
  readonly error: string | undefined;
  /** Entries that a broker takes to be in the segment's offset index, zeros included; undefined without one. */
  readonly offsetIndexSlots: number | undefined;
  /** Entries that a broker takes to be in its time index. */
  readonly timeIndexSlots: number | undefined;
}

/** A slot of an index with its number. */
export interface IndexSlot {
  /** From 0. */
  readonly number: number;
  /** Offset. */
  readonly offset: Int64;
  /** Whether it is behind the entries in use. */
  readonly isUnused: boolean;
}

/** An aborted transaction. */
export interface AbortedTransaction {
  /** Version of the entry. */
  readonly version: number;
  /** Producer id. */
  readonly producerId: Int64;
  /** First offset of the transaction. */
  readonly firstOffset: Int64;
  /** Offset of its marker. */
  readonly lastOffset: Int64;
  /** Last stable offset when it was aborted. */
  readonly lastStableOffset: Int64;
}

/** A form of output. Every method writes whole lines. */
export interface DumpFormat {
  /** A file begins. */
  file(file: DumpedFile): void;
  /** A batch, before its records. */
  batch(batch: DumpedBatch): void;
  /** The `n`th record of a batch. */
  record(batch: DumpedBatch, decoded: DecodedRecords, record: KafkaRecord, n: number): void;
  /** The batches of a file are all told. */
  end(file: DumpedFile, end: DumpedEnd): void;
  /** A slot of an offset index; answers whether the next one is wanted. */
  offsetSlot(file: DumpedFile, slot: IndexSlot, position: number): boolean;
  /** A slot of a time index; answers whether the next one is wanted. */
  timeSlot(file: DumpedFile, slot: IndexSlot, timestamp: Int64): boolean;
  /** An index without slots. */
  emptyIndex(file: DumpedFile): void;
  /** An entry of a transaction index. */
  abortedTransaction(file: DumpedFile, transaction: AbortedTransaction): void;
  /** A producer snapshot. */
  snapshot(file: DumpedFile, snapshot: ProducerSnapshot): void;
  /** The leader epochs. */
  leaderEpochs(file: DumpedFile, epochs: readonly (readonly [epoch: number, startOffset: Int64])[]): void;
  /** The topic's id. */
  partitionMetadata(file: DumpedFile, topicId: string): void;
  /** A line of an offset checkpoint. */
  offsetCheckpoint(file: DumpedFile, entry: OffsetCheckpointEntry): void;
}
