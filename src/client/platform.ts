/**
 * What a runtime brings: sockets and native codecs. `adapters/auto.ts` is the one that picks by itself.
 *
 * @module
 */

import type { Codecs } from "../compression/codec.ts";
import type { Connect } from "../transport/transport.ts";

/** The runtime's side of a client. */
export interface Platform {
  /** Opens sockets. */
  readonly connect: Connect;
  /** Resolves to the codecs the runtime has natively. */
  codecs(): Promise<Codecs>;
}
