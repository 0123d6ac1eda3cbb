/**
 * What the producers are measured with. Names stand in docs/benchmarks.md.
 *
 * @module
 */

/** One kind of load. */
export interface Workload {
  /** Records that are measured, when half as many have warmed everything up. Slow clients get a share of them. */
  readonly records: number;
  /** Bytes of a value. */
  readonly size: number;
  /** How records are sent: many sends under way, lists of 1,000, or each one awaited. */
  readonly how: "pipelined" | "lists" | "awaited";
  /** Sends under way. */
  readonly inFlight: number;
  /** Partitions of the topic. */
  readonly partitions: number;
  /** Different keys; 0 for none. */
  readonly keys: number;
  /** Codec of all clients. */
  readonly compression: "none" | "lz4" | "zstd" | "gzip";
  /** Options for ours, under Java's keys in camelCase. */
  readonly options?: Readonly<Record<string, number>>;
}

const base: Workload = {
  records: 2_000_000,
  size: 100,
  how: "pipelined",
  inFlight: 10_000,
  partitions: 3,
  keys: 0,
  compression: "none",
};

/** Every load by name. */
export const WORKLOADS: Readonly<Record<string, Workload>> = {
  "100B": base,
  "100B-128k-batches": { ...base, options: { batchSize: 131_072 } },
  "100B-lz4": { ...base, compression: "lz4" },
  "100B-zstd": { ...base, compression: "zstd" },
  "1KiB": { ...base, size: 1024, records: 400_000 },
  "100KiB": { ...base, size: 102_400, records: 8_000, inFlight: 100 },
  "keyed-64": { ...base, partitions: 64, keys: 10_000 },
  "lists-of-1000": { ...base, how: "lists", inFlight: 10 },
  "awaited": { ...base, how: "awaited", records: 10_000, inFlight: 1, options: { lingerMs: 0 } },
};
