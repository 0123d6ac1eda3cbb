import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { bootstrapServers, hostPortText } from "../../src/client/bootstrap_servers.ts";

describe("bootstrapServers", () => {
  test("takes a list, one string, or items separated by commas, each server once", () => {
    const expected = [{ host: "a", port: 1 }, { host: "b.example.org", port: 65535 }];
    assert.deepEqual(bootstrapServers(["a:1", "b.example.org:65535"]), expected);
    assert.deepEqual(bootstrapServers(" a:1 , b.example.org:65535,, a:1"), expected);
  });

  test("takes IPv6 addresses in brackets and writes them so", () => {
    assert.deepEqual(bootstrapServers("[::1]:9092"), [{ host: "::1", port: 9092 }]);
    assert.equal(hostPortText({ host: "::1", port: 9092 }), "[::1]:9092");
    assert.equal(hostPortText({ host: "a", port: 1 }), "a:1");
  });

  for (const bad of ["a", "a:", ":1", "a:0", "a:65536", "a:1x", "::1:9092", "http://a:1", "a b:1", "a:1/"]) {
    test(`refuses ${JSON.stringify(bad)} and quotes it`, () => {
      assert.throws(() => bootstrapServers(["ok:1", bad]), (error: { code: string; message: string }) => {
        assert.equal(error.code, "INVALID_CONFIG");
        assert.ok(error.message.includes(`"${bad}"`), error.message);
        return true;
      });
    });
  }

  test("refuses to start with none", () => {
    for (const none of [undefined, "", [], [" , "]]) {
      assert.throws(() => bootstrapServers(none), { code: "INVALID_CONFIG", message: /bootstrap\.servers.*needed/ });
    }
  });
});
