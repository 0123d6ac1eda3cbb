/**
 * ApiVersions (18), versions 0 to 4. No features are finalized, no throttling. A version beyond is answered with
 * UNSUPPORTED_VERSION in the form of version 0 by the connection.
 *
 * @module
 */

import { type ApiVersionsResponseApiVersion, apiVersionsServerApi } from "../../protocol/api_versions.ts";
import { type Handler, handler } from "../handler.ts";

/** Makes the handler that tells what stands in `handlers`. */
export function apiVersionsHandler(handlers: ReadonlyMap<number, Handler>): Handler {
  return handler(apiVersionsServerApi, () => ({ apiKeys: supportedApis(handlers) }), {
    failed: (errorCode) => ({ errorCode, apiKeys: supportedApis(handlers) }),
  });
}

/** The APIs and versions told to clients, by number. */
export function supportedApis(handlers: ReadonlyMap<number, Handler>): ApiVersionsResponseApiVersion[] {
  return [...handlers.values()]
    .sort((a, b) => a.key - b.key)
    .map((api) => ({ apiKey: api.key, minVersion: api.advertisedMinVersion, maxVersion: api.maxVersion }));
}
