/**
 * What one node can speak: the range of versions of each API, as it told on connecting. Versions belong to a connection,
 * not to the cluster: during a rolling upgrade the nodes differ.
 *
 * @module
 */

import { UnsupportedVersionError } from "../core/kafka_error.ts";

/** The part of an API descriptor that a choice of version needs. */
export interface VersionedApi {
  /** Kafka's number of the API. */
  readonly key: number;
  /** Kafka's name of the API. */
  readonly name: string;
  /** Lowest version this library writes and reads. */
  readonly minVersion: number;
  /** Highest version this library writes and reads. */
  readonly maxVersion: number;
}

/** An inclusive range of versions. */
export interface VersionRange {
  /** Lowest. */
  readonly min: number;
  /** Highest. */
  readonly max: number;
}

/** The versions that one node announced. */
export class ApiVersions {
  readonly #node: string;
  readonly #ranges: ReadonlyMap<number, VersionRange>;
  /** Cluster-wide feature levels, such as `transaction.version` → 2; empty where the broker tells none. */
  readonly features: ReadonlyMap<string, number>;

  /** The `ranges` by API key that `node` (for messages) announced, and the finalized `features`. */
  constructor(node: string, ranges: ReadonlyMap<number, VersionRange>, features: ReadonlyMap<string, number>) {
    this.#node = node;
    this.#ranges = ranges;
    this.features = features;
  }

  /** The node's range for the API `key`; undefined when it does not have that API. */
  range(key: number): VersionRange | undefined {
    return this.#ranges.get(key);
  }

  /** All ranges by API key. */
  get ranges(): ReadonlyMap<number, VersionRange> {
    return this.#ranges;
  }

  /**
   * The highest version of `api` that both sides know, within `bounds`.
   *
   * @throws UnsupportedVersionError naming both ranges; nothing has been sent then.
   */
  pick(api: VersionedApi, bounds: Partial<VersionRange> = {}): number {
    const ours = {
      min: Math.max(api.minVersion, bounds.min ?? 0),
      max: Math.min(api.maxVersion, bounds.max ?? api.maxVersion),
    };
    const theirs = this.#ranges.get(api.key);
    if (theirs === undefined) throw new UnsupportedVersionError(`${this.#node} does not have ${api.name} (${api.key})`);
    const version = Math.min(ours.max, theirs.max);
    if (version >= Math.max(ours.min, theirs.min)) return version;
    throw new UnsupportedVersionError(
      `${this.#node} speaks ${api.name} ${theirs.min} to ${theirs.max}, this call needs ${ours.min} to ${ours.max}`,
    );
  }
}
