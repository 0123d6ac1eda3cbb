import type { Codecs, CompressionType } from "../compression/codec.ts";
import type { Crc32c } from "../hash/crc32c.ts";
import type { Record, TimestampType } from "./record.ts";

/** What decoding a batch needs. */
export interface DecodeOptions {
  /** Codecs for compressed batches; without the one needed, decoding is an error that names it. */
  readonly codecs?: Codecs | undefined;
  /** Most bytes one batch may inflate to; `DEFAULT_DECOMPRESSION_LIMIT` when absent. */
  readonly limit?: number | undefined;
}

/**
 * The unit of append, checksum and index: a v2 record batch, or one message of the older formats with all that a
 * compressed one wraps. A lazy view of the bytes it was read from.
 */
export interface Batch {
  /** All its bytes, header included: a view. */
  readonly bytes: Uint8Array;
  /** Bytes it takes, including the 12 before what its length field counts. */
  readonly size: number;
  /** Where it begins: position in the file or response it was read from. */
  readonly position: number;
  /** Message format: 0, 1 or 2. */
  readonly magic: number;
  /** Checksum it carries, unsigned. */
  readonly crc: number;
  /**
   * Offset of its first record, or a lower bound: where that one was compacted away, and 0 for a compressed message of the
   * old formats, whose header tells the last offset only. See {@linkcode exactBaseOffset}.
   */
  readonly baseOffset: number;
  /** Offset of its last record, or an upper bound where that one was compacted away. */
  readonly lastOffset: number;
  /** Codec of its records. */
  readonly compression: CompressionType;
  /** Meaning of its timestamps. */
  readonly timestampType: TimestampType;
  /** Greatest timestamp among its records; −1 for none. */
  readonly maxTimestamp: number;
  /** Leader epoch the leader stamped on it; −1 for none. */
  readonly partitionLeaderEpoch: number;
  /** Producer id; −1 for none. */
  readonly producerId: number;
  /** Producer epoch; −1 for none. */
  readonly producerEpoch: number;
  /** Sequence of its first record; −1 for none. */
  readonly baseSequence: number;
  /** Sequence of its last record; −1 for none. */
  readonly lastSequence: number;
  /** Whether it belongs to a transaction. */
  readonly isTransactional: boolean;
  /** Whether it holds a control record (a transaction marker, …) and not an application's records. */
  readonly isControl: boolean;
  /** When the cleaner may drop its tombstones or markers; null when not set. */
  readonly deleteHorizonMs: number | null;
  /** Records it declares; null where the format does not say. */
  readonly recordCount: number | null;

  /**
   * What Kafka takes for its base offset: {@linkcode baseOffset}, but for a compressed message of the old formats the offset
   * of the first one that it wraps, which must be inflated for that.
   *
   * @throws CorruptRecordError when it is damaged, CompressionError when it cannot be inflated.
   */
  exactBaseOffset(options?: DecodeOptions): number;
  /** Whether its checksum is right. */
  hasValidCrc(crc32c: Crc32c): boolean;
  /**
   * Checks its checksum.
   *
   * @throws CorruptRecordError when it is wrong.
   */
  verifyCrc(crc32c: Crc32c): void;
  /**
   * Decodes its records: an array of lazy views.
   *
   * @throws CorruptRecordError when they are damaged, CompressionError when they cannot be inflated.
   */
  records(options?: DecodeOptions): Record[];
}
