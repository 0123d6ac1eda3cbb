/**
 * Cuts a byte stream into Kafka's frames: a length of four bytes, then that many bytes.
 *
 * Every frame gets one buffer of its own, since records and byte fields are views of it that live on. Small frames are
 * copied out of a read buffer, which takes several at once; the bulk of a large one is read straight into its place.
 *
 * @module
 */

import { ConnectionError, KafkaError, ProtocolError } from "../core/kafka_error.ts";
import { foreignProtocol } from "./foreign_protocol.ts";
import type { Transport } from "./transport.ts";

/** Settings of a {@linkcode FrameReader}. */
export interface FrameReaderOptions {
  /** The other end in messages, `host:port`. */
  readonly peer: string;
  /** Largest frame in bytes; a larger length is an error before anything is allocated. Default 100 MiB. */
  readonly maxFrameSize?: number;
}

/** Every message begins with a number of this size at least. */
const MIN_FRAME_SIZE = 4;

const DEFAULT_MAX_FRAME_SIZE = 100 * 1024 * 1024;
const READ_BUFFER_SIZE = 16 * 1024;
const LENGTH_SIZE = 4;

/** Reads frames from a transport, one `next` at a time. */
export class FrameReader {
  readonly #transport: Transport;
  readonly #peer: string;
  #maxFrameSize: number;
  readonly #buffer = new Uint8Array(READ_BUFFER_SIZE);
  /** What is in the buffer and not yet taken: `[#from, #to)`. */
  #from = 0;
  #to = 0;
  /** Size of the frame being read; undefined before its length is here. */
  #size: number | undefined;
  #first = true;
  #ended = false;
  #error: KafkaError | undefined;

  /** Starts to read from `transport`, whose only reader this is from now on. */
  constructor(transport: Transport, options: FrameReaderOptions) {
    this.#transport = transport;
    this.#peer = options.peer;
    this.#maxFrameSize = options.maxFrameSize ?? DEFAULT_MAX_FRAME_SIZE;
  }

  /** Sets the largest size of the frames whose length has not been read yet: a peer may have to earn more. */
  set maxFrameSize(bytes: number) {
    this.#maxFrameSize = bytes;
  }

  /**
   * The next frame without its length; null when the stream ended between two frames. The buffer is the caller's to keep.
   *
   * @throws ProtocolError for a length that cannot be right or a peer that speaks another protocol; ConnectionError when
   * the stream ends within a frame or breaks. The error stays: what follows it in the stream could not be told apart.
   */
  next(): Promise<Uint8Array | null> {
    try {
      if (this.#error !== undefined) throw this.#error;
      // A frame that is here already costs no read.
      const frame = this.#takeBuffered();
      if (frame !== undefined) return Promise.resolve(frame);
      if (this.#ended) return Promise.resolve(null);
    } catch (error) {
      return Promise.reject(this.#fail(error));
    }
    return this.#readFrame();
  }

  async #readFrame(): Promise<Uint8Array | null> {
    try {
      for (;;) {
        const size = this.#size;
        if (size !== undefined && size > READ_BUFFER_SIZE) return await this.#readLarge(size);
        if (!await this.#fill()) return null;
        const frame = this.#takeBuffered();
        if (frame !== undefined) return frame;
      }
    } catch (error) {
      throw this.#fail(error);
    }
  }

  /** The next frame out of the buffer, as a copy; undefined when it is not there as a whole. */
  #takeBuffered(): Uint8Array | undefined {
    const buffer = this.#buffer;
    if (this.#size === undefined) {
      const from = this.#from;
      if (this.#to - from < LENGTH_SIZE) return undefined;
      const size = (buffer[from]! << 24) | (buffer[from + 1]! << 16) | (buffer[from + 2]! << 8) | buffer[from + 3]!;
      this.#check(size);
      this.#from = from + LENGTH_SIZE;
      this.#size = size;
    }
    if (this.#to - this.#from < this.#size) return undefined;
    const start = this.#from;
    this.#from += this.#size;
    this.#size = undefined;
    return buffer.slice(start, this.#from);
  }

  /** Reads the rest of a frame that does not fit into the buffer straight into its place. */
  async #readLarge(size: number): Promise<Uint8Array> {
    const frame = this.#allocate(size);
    let filled = this.#to - this.#from;
    frame.set(this.#buffer.subarray(this.#from, this.#to));
    this.#from = this.#to = 0;
    while (filled < size) {
      const count = await this.#transport.read(filled === 0 ? frame : frame.subarray(filled));
      if (count === 0) throw this.#cut(filled, size, "a frame");
      filled += count;
    }
    this.#size = undefined;
    return frame;
  }

  /** Reads more into the buffer; false at the end of the stream between two frames. */
  async #fill(): Promise<boolean> {
    if (this.#from > 0) {
      this.#buffer.copyWithin(0, this.#from, this.#to);
      this.#to -= this.#from;
      this.#from = 0;
    }
    const count = await this.#transport.read(this.#to === 0 ? this.#buffer : this.#buffer.subarray(this.#to));
    this.#to += count;
    if (count > 0) return true;
    if (this.#size !== undefined) throw this.#cut(this.#to, this.#size, "a frame");
    if (this.#to > 0) throw this.#cut(this.#to, LENGTH_SIZE, "a frame's length");
    this.#ended = true;
    return false;
  }

  #check(size: number): void {
    if (this.#first) {
      this.#first = false;
      const reason = foreignProtocol(size, this.#maxFrameSize);
      if (reason !== undefined) {
        throw new ProtocolError(`${this.#peer}: ${reason}`, { code: "WRONG_PROTOCOL" });
      }
    }
    if (size < MIN_FRAME_SIZE) {
      throw new ProtocolError(`${this.#peer}: a frame's length is ${size}; the peer does not speak Kafka's protocol`, {
        code: "INVALID_FRAME_SIZE",
      });
    }
    if (size > this.#maxFrameSize) {
      throw new ProtocolError(
        `${this.#peer}: a frame of ${size} bytes is larger than the limit of ${this.#maxFrameSize}; ` +
          "raise the limit, ask for less at once, or check what listens on that port",
        { code: "FRAME_TOO_LARGE" },
      );
    }
  }

  #allocate(size: number): Uint8Array {
    try {
      return new Uint8Array(size);
    } catch (cause) {
      throw new ProtocolError(`${this.#peer}: no memory for a frame of ${size} bytes`, {
        code: "FRAME_TOO_LARGE",
        cause,
      });
    }
  }

  #cut(got: number, size: number, what: string): ConnectionError {
    return new ConnectionError(`${this.#peer}: the connection ended after ${got} of ${size} bytes of ${what}`, {
      code: "TRUNCATED_FRAME",
    });
  }

  #fail(error: unknown): KafkaError {
    return this.#error ??= error instanceof KafkaError
      ? error
      : new ConnectionError(`${this.#peer}: ${(error as Error)?.message ?? error}`, { cause: error });
  }
}
