/**
 * The error family. Everything this library throws or rejects with is a {@linkcode KafkaError}, so a caller needs one
 * `instanceof` and reads the rest from fields: what happened (`code`), whether trying again can help (`retriable`), what
 * became of the records (`outcome`) and where (`topic`, `partition`, `offset`, `file`, `position`, `host`, `port`).
 *
 * @module
 */

/**
 * What is known about the records a failed call was about.
 *
 * - `"not-written"`: they are certainly not in the log; sending again cannot double them.
 * - `"unknown"`: no answer came; they may be stored.
 * - `"rejected"`: the broker looked at them and refused; sending the same again fails again.
 */
export type Outcome = "not-written" | "unknown" | "rejected";

/** The machine-readable half of a {@linkcode KafkaError}; every field that applies is set. */
export interface ErrorDetails {
  /** Stable name of the failure in upper snake case; the broker's own name where the broker spoke. */
  code?: string | undefined;
  /** Whether the same call may succeed later without any change. */
  retriable?: boolean | undefined;
  /** What is known about the records concerned. */
  outcome?: Outcome | undefined;
  /** The error underneath, when there is one. */
  cause?: unknown;
  /** Topic concerned. */
  topic?: string | undefined;
  /** Partition concerned. */
  partition?: number | undefined;
  /** Record offset concerned. */
  offset?: number | undefined;
  /** File concerned. */
  file?: string | undefined;
  /** Byte position in the file or message. */
  position?: number | undefined;
  /** Host that was talked to. */
  host?: string | undefined;
  /** Port that was talked to. */
  port?: number | undefined;
}

const DETAILS = ["outcome", "topic", "partition", "offset", "file", "position", "host", "port"] as const;

/** Base of every error of this library. */
export class KafkaError extends Error {
  /** Name of the class. */
  override readonly name: string = "KafkaError";
  /** Stable name of the failure, such as `"REQUEST_TIMED_OUT"` or `"CONNECTION_CLOSED"`. */
  readonly code: string;
  /** Whether the same call may succeed later without any change. */
  readonly retriable: boolean;
  /** What is known about the records concerned; undefined when the call was about none. */
  declare readonly outcome: Outcome | undefined;
  /** Topic concerned. */
  declare readonly topic: string | undefined;
  /** Partition concerned. */
  declare readonly partition: number | undefined;
  /** Record offset concerned. */
  declare readonly offset: number | undefined;
  /** File concerned. */
  declare readonly file: string | undefined;
  /** Byte position in the file or message. */
  declare readonly position: number | undefined;
  /** Host that was talked to. */
  declare readonly host: string | undefined;
  /** Port that was talked to. */
  declare readonly port: number | undefined;

  /** Makes an error that says `message` and carries `details`. */
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code ?? "KAFKA_ERROR";
    this.retriable = details.retriable ?? false;
    // Only what applies becomes a field, so that a printed error shows nothing but facts.
    for (const name of DETAILS) {
      if (details[name] !== undefined) Object.defineProperty(this, name, { value: details[name], enumerable: true });
    }
  }
}

/** The broker answered with an error code; `code` is Kafka's name for it and `errorCode` its number. */
export class BrokerError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "BrokerError";
  /** Kafka's number, for instance 3 for `UNKNOWN_TOPIC_OR_PARTITION`. */
  readonly errorCode: number;

  /** Makes an error for the broker's `errorCode`. */
  constructor(message: string, errorCode: number, details: ErrorDetails = {}) {
    super(message, details);
    this.errorCode = errorCode;
  }
}

/**
 * Records could not be sent. `outcome` says what is known of them: `"not-written"`, `"unknown"` (they may be stored) or
 * `"rejected"`. The error of the last attempt is the cause, where there was one.
 */
export class ProduceError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "ProduceError";
}

/** A connection could not be made, failed or was closed. Retriable, since another attempt may go through. */
export class ConnectionError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "ConnectionError";

  /** Makes an error whose `code` is that of the `cause` (`ECONNREFUSED`, …) where the runtime tells. */
  constructor(message: string, details: ErrorDetails = {}) {
    const code = details.code ?? (details.cause as { code?: unknown } | undefined)?.code;
    super(message, { retriable: true, ...details, code: typeof code === "string" ? code : "CONNECTION_FAILED" });
  }
}

/** Time ran out before an answer or a resource was there. */
export class TimeoutError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "TimeoutError";

  /** Makes an error with `code` `"TIMED_OUT"` unless `details` says otherwise. */
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "TIMED_OUT", retriable: true, ...details });
  }
}

/** The client, producer, consumer or file was closed before or while the call ran. */
export class ClosedError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "ClosedError";

  /** Makes an error with `code` `"CLOSED"` unless `details` says otherwise. */
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "CLOSED", ...details });
  }
}

/** The caller's `AbortSignal` fired; `cause` is the signal's reason. */
export class AbortedError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "AbortedError";

  /** Makes an error with `code` `"ABORTED"` unless `details` says otherwise. */
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "ABORTED", ...details });
  }
}

/** An option or argument is missing, unknown, of the wrong type or out of range. Nothing was tried. */
export class ConfigError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "ConfigError";

  /** Makes an error with `code` `"INVALID_CONFIG"` unless `details` says otherwise. */
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "INVALID_CONFIG", ...details });
  }
}

/** Bytes do not follow Kafka's protocol: a bad length, a cut message, a peer that speaks something else. */
export class ProtocolError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "ProtocolError";

  /** Makes an error with `code` `"PROTOCOL_ERROR"` unless `details` says otherwise. */
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "PROTOCOL_ERROR", ...details });
  }
}

/** No version of a request is known to both sides, or a field that was set does not exist in the version chosen. */
export class UnsupportedVersionError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "UnsupportedVersionError";

  /** Makes an error with `code` `"UNSUPPORTED_VERSION"` unless `details` says otherwise. */
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "UNSUPPORTED_VERSION", ...details });
  }
}

/** Stored or fetched records are damaged: wrong checksum, impossible length, bytes left over. */
export class CorruptRecordError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "CorruptRecordError";

  /** Makes an error with `code` `"CORRUPT_RECORD"` unless `details` says otherwise. */
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "CORRUPT_RECORD", ...details });
  }
}

/** A codec is missing, refused its input, or would have inflated past the limit. */
export class CompressionError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "CompressionError";

  /** Makes an error with `code` `"COMPRESSION_FAILED"` unless `details` says otherwise. */
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, { code: "COMPRESSION_FAILED", ...details });
  }
}

/** A file could not be opened, read, written or renamed. */
export class StorageError extends KafkaError {
  /** Name of the class. */
  override readonly name: string = "StorageError";

  /** Makes an error whose `code` is that of the `cause` (`ENOENT`, …) where the runtime tells. */
  constructor(message: string, details: ErrorDetails = {}) {
    const code = details.code ?? (details.cause as { code?: unknown } | undefined)?.code;
    super(message, { ...details, code: typeof code === "string" ? code : "STORAGE_FAILED" });
  }
}

/** Whether trying the same again may help. Errors that are not ours never are. */
export function isRetriable(error: unknown): boolean {
  return error instanceof KafkaError && error.retriable;
}
