/**
 * Finds mistakes in TLS settings that the runtimes report late, obscurely or not at all.
 *
 * @module
 */

import { ConfigError } from "../core/kafka_error.ts";
import type { TlsOptions } from "./transport.ts";

/** Throws a ConfigError when `tls` cannot be right: a path where PEM text belongs, a certificate without its key. */
export function checkTlsOptions(tls: TlsOptions): void {
  for (const name of ["ca", "cert", "key"] as const) {
    const text = tls[name];
    if (text === undefined || text.includes("-----BEGIN ")) continue;
    throw new ConfigError(`tls.${name} is not PEM text: give the file's content, which has a line "-----BEGIN …"`);
  }
  if ((tls.cert === undefined) !== (tls.key === undefined)) {
    throw new ConfigError("tls.cert and tls.key belong together: give both or neither");
  }
}
