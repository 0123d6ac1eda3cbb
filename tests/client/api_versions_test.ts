import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ApiVersions } from "../../src/client/api_versions.ts";

const api = { key: 1, name: "Fetch", minVersion: 4, maxVersion: 17 };
const node = (min: number, max: number) => new ApiVersions("node 1 (a:1)", new Map([[1, { min, max }]]), new Map());

describe("ApiVersions.pick", () => {
  test("picks the highest version in both ranges", () => {
    assert.equal(node(0, 11).pick(api), 11);
    assert.equal(node(4, 18).pick(api), 17);
    assert.equal(node(0, 4).pick(api), 4);
  });

  test("keeps within the bounds of the call", () => {
    assert.equal(node(0, 18).pick(api, { max: 12 }), 12);
    assert.throws(() => node(0, 11).pick(api, { min: 13 }), { code: "UNSUPPORTED_VERSION" });
  });

  test("says both ranges when they do not meet", () => {
    assert.throws(() => node(0, 3).pick(api), {
      code: "UNSUPPORTED_VERSION",
      message: "node 1 (a:1) speaks Fetch 0 to 3, this call needs 4 to 17",
    });
    assert.throws(() => node(18, 20).pick(api), { code: "UNSUPPORTED_VERSION" });
  });

  test("says so when the node does not have the API", () => {
    assert.throws(() => node(0, 3).pick({ ...api, key: 99, name: "X" }), {
      message: "node 1 (a:1) does not have X (99)",
    });
  });
});
