/**
 * Where the library says what it does. It never writes to the console by itself.
 *
 * @module
 */

/** Facts beside a message, for machines. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Takes messages by severity. `console` fits as it is. */
export interface Logger {
  /** Steps of normal work: connections made, metadata refreshed. */
  debug(message: string, fields?: LogFields): void;
  /** Rare events of normal work. */
  info(message: string, fields?: LogFields): void;
  /** Something failed and is being retried or worked around. */
  warn(message: string, fields?: LogFields): void;
  /** Something failed for good. */
  error(message: string, fields?: LogFields): void;
}

/** Says nothing; the default. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
