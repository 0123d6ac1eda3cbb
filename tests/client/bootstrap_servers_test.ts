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

  test("case 101: takes names and addresses of every kind, with blanks around", () => {
    for (
      const [text, host, port] of [
        ["[::1]:9092", "::1", 9092],
        ["[fe80::1%eth0]:9092", "fe80::1%eth0", 9092],
        ["[::ffff:10.0.0.1]:9092", "::ffff:10.0.0.1", 9092],
        [" host:9092 ", "host", 9092],
        ["\thost_1:9092\n", "host_1", 9092],
        ["h.:9093", "h.", 9093],
        ["10.0.0.1:9093", "10.0.0.1", 9093],
        ["localhost:00080", "localhost", 80],
      ] as const
    ) {
      assert.deepEqual(bootstrapServers(text), [{ host, port }], text);
    }
  });

  for (
    const [bad, why] of [
      ["host", /the port is missing, as in host:9092/],
      ["host:", /the port is missing, as in host:9092/],
      [":9092", /the host is missing/],
      [":", /the port is missing/],
      ["host:0", /from 1 to 65535/],
      ["host:65536", /from 1 to 65535/],
      ["host:-1", /the port is "-1"/],
      ["host:1x", /the port is "1x"/],
      ["::1", /in brackets, as in \[::1\]:9092/],
      ["::1:9092", /in brackets/],
      ["[::1]", /the port is missing, as in \[::1\]:9092/],
      ["PLAINTEXT://h:1", /leave out the protocol, which is the option securityProtocol/],
      ["http://a:1", /leave out the protocol/],
      ["a b:1", /no host has such a name/],
      ["a:1/", /the port is "1\/"/],
      ["user@a:1", /no host has such a name/],
      // Nothing in it is read as a path or a variable (case 112).
      ["${file:/etc/passwd}:1", /is not host:port/],
    ] as const
  ) {
    test(`case 101: refuses ${JSON.stringify(bad)}, quotes it and says why`, () => {
      assert.throws(() => bootstrapServers(["ok:1", bad]), (error: { code: string; message: string }) => {
        assert.equal(error.code, "INVALID_CONFIG");
        assert.ok(error.message.includes(`"${bad}"`), error.message);
        assert.match(error.message, why);
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
