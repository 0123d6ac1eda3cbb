import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { clientContext } from "../../src/client/client_context.ts";
import type { ClientOptions } from "../../src/client/client_options.ts";

function resolve(options: Partial<ClientOptions>) {
  const warnings: string[] = [];
  const none = () => {};
  const logger = { debug: none, info: none, warn: (message: string) => void warnings.push(message), error: none };
  const { client } = clientContext({ bootstrapServers: "a:1", logger, ...options }, {
    connect: () => assert.fail("it connected"),
    codecs: () => Promise.resolve({}),
  });
  return { ...client, warnings };
}

describe("rules between a client's options", () => {
  test("scenario 41: a reconnect back-off given alone is constant, with a warning", () => {
    const alone = resolve({ reconnectBackoffMs: 200 });
    assert.deepEqual([alone.reconnectBackoffMaxMs, alone.warnings.length], [200, 1]);
    const both = resolve({ reconnectBackoffMs: 200, reconnectBackoffMaxMs: 3000 });
    assert.deepEqual([both.reconnectBackoffMaxMs, both.warnings.length], [3000, 0]);
    const maximum = resolve({ reconnectBackoffMaxMs: 3000 });
    assert.deepEqual([maximum.reconnectBackoffMs, maximum.reconnectBackoffMaxMs, maximum.warnings.length], [
      50,
      3000,
      0,
    ]);
    assert.deepEqual(resolve({}).warnings, []);
  });

  test("a wait above its maximum is warned of", () => {
    assert.deepEqual(resolve({ retryBackoffMs: 2000 }).warnings, [
      "retryBackoffMs=2000 is above retryBackoffMaxMs=1000, which is used each time",
    ]);
    assert.match(
      resolve({ socketConnectionSetupTimeoutMs: 40_000 }).warnings[0]!,
      /socketConnectionSetupTimeoutMaxMs=30000/,
    );
  });

  test("case 110: a client id is as long as the protocol can carry, in bytes", () => {
    assert.equal(resolve({ clientId: "x".repeat(32_767) }).clientId.length, 32_767);
    for (const clientId of ["", "x".repeat(32_768), "ä".repeat(16_384)]) {
      assert.throws(() => resolve({ clientId }), {
        code: "INVALID_CONFIG",
        message: /clientId \(client\.id\) must be text of 1 to 32767 bytes/,
      });
    }
  });

  test("case 020: a number of milliseconds that no timer can wait for is refused", () => {
    for (const requestTimeoutMs of [Infinity, Number.MAX_SAFE_INTEGER, 2 ** 31, -1, NaN, 1.5]) {
      assert.throws(() => resolve({ requestTimeoutMs }), { code: "INVALID_CONFIG", message: /requestTimeoutMs/ });
    }
    assert.equal(resolve({ requestTimeoutMs: 2 ** 31 - 1 }).requestTimeoutMs, 2147483647);
  });
});
