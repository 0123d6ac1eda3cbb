/**
 * What the generated messages share: the shape of an API's descriptor, and the few functions their code calls.
 *
 * @module
 */

import type { Reader } from "../bytes/reader.ts";
import type { Writer } from "../bytes/writer.ts";
import { UnsupportedVersionError } from "../core/kafka_error.ts";

/**
 * A message to be written: every field may be left out and then has the default of Kafka's definition. Bytes may be
 * given as a list of parts, which is written by reference.
 */
export type Input<T> = T extends Uint8Array ? Uint8Array | readonly Uint8Array[]
  : T extends readonly (infer E)[] ? readonly Input<E>[]
  : T extends object ? { readonly [K in keyof T]?: Input<T[K]> | undefined }
  : T;

/** Numbers of an API. */
export interface ApiNumbers {
  /** Kafka's number of the API. */
  readonly key: number;
  /** Kafka's name of the API. */
  readonly name: string;
  /** Lowest version. */
  readonly minVersion: number;
  /** Highest stable version. */
  readonly maxVersion: number;
  /** First version with compact lengths and tagged fields; 32767 when there is none. */
  readonly flexibleFrom: number;
}

/** An API as a client uses it. */
export interface ClientApi<Req, Res> extends ApiNumbers {
  /** Writes a request. */
  readonly encodeRequest: (w: Writer, m: Input<Req>, version: number) => void;
  /** Reads an answer. */
  readonly decodeResponse: (r: Reader, version: number) => Res;
}

/** An API as a broker uses it. */
export interface ServerApi<Req, Res> extends ApiNumbers {
  /** Reads a request. */
  readonly decodeRequest: (r: Reader, version: number) => Req;
  /** Writes an answer. */
  readonly encodeResponse: (w: Writer, m: Input<Res>, version: number) => void;
}

/** What is known of a field of a stored message beside how it is written; its JSON form needs it. */
export interface MessageField {
  /** Name of the field. */
  readonly name: string;
  /** First version that has it; the struct's first when absent. */
  readonly from?: number;
  /** Last version that has it; the struct's last when absent. */
  readonly until?: number;
  /** Of a tagged field, which is left out when it has its default: that default. */
  readonly unless?: unknown;
  /** Fields of the struct it holds, or of each in its list. */
  readonly fields?: readonly MessageField[];
}

/** A message that is stored, not sent: a record's key or value, or the content of a file. */
export interface MessageSchema<T> {
  /** Kafka's name of the message. */
  readonly name: string;
  /** What tells such messages apart where several kinds lie together; −1 where they do not. */
  readonly type: number;
  /** Lowest version. */
  readonly minVersion: number;
  /** Highest version. */
  readonly maxVersion: number;
  /** Writes a message. */
  readonly encode: (w: Writer, m: Input<T>, version: number) => void;
  /** Reads a message. */
  readonly decode: (r: Reader, version: number) => T;
  /** Its fields in their order. */
  readonly fields: readonly MessageField[];
}

/** The UUID that stands for none. */
export const ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA";

/** No bytes. */
export const NO_BYTES: Uint8Array = new Uint8Array(0);

/** Throws unless `version` of `message` is one that the definitions know. */
export function checkVersion(message: string, version: number, min: number, max: number): void {
  if (!(version >= min && version <= max)) {
    throw new UnsupportedVersionError(`${message} has versions ${min} to ${max}, not ${version}`);
  }
}

/** Throws for a field that is set and does not exist in `version`. */
export function unsupportedField(message: string, field: string, version: number): never {
  throw new UnsupportedVersionError(`${message} v${version} has no field ${field}, which is set`);
}

/** Throws for a field that is null and cannot be in `version`. */
export function unsupportedNull(message: string, field: string, version: number): never {
  throw new UnsupportedVersionError(`${message} v${version} needs a value for ${field}, which is null`);
}
