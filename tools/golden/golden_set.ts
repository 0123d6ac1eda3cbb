import type { Codecs } from "../../src/compression/codec.ts";
import type { Storage } from "../../src/log/storage.ts";
import type { ExpectedSet } from "./expected_set.ts";

/** A directory and what Kafka says of it. */
export interface GoldenSet {
  /** The parsed `expected.json`. */
  readonly expected: ExpectedSet;
  /** The partition's folder. */
  readonly folder: Storage;
  /** The folder around it, with the checkpoint files; without it they are not compared. */
  readonly logDirectory?: Storage | undefined;
  /** Codecs for its batches. */
  readonly codecs: Codecs;
}
