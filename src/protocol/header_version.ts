/**
 * Which header goes before a message. It follows from the API and the version of the message; nothing on the wire says it.
 *
 * @module
 */

import type { ApiNumbers } from "./api.ts";

const API_VERSIONS = 18;

/** Version of the header before a request: 2 has tagged fields, 1 has none. */
export function requestHeaderVersion(api: Pick<ApiNumbers, "flexibleFrom">, version: number): number {
  return version >= api.flexibleFrom ? 2 : 1;
}

/**
 * Version of the header before an answer: 1 has tagged fields, 0 has none. ApiVersions is always answered with 0: the
 * client may have asked in a version that the broker does not know, and must be able to read that.
 */
export function responseHeaderVersion(api: Pick<ApiNumbers, "key" | "flexibleFrom">, version: number): number {
  return version >= api.flexibleFrom && api.key !== API_VERSIONS ? 1 : 0;
}
