import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { differences } from "../../tools/generate_protocol.ts";

const libs = ".cache/kafka/4.3.1/libs";

test("src/protocol is what the generator makes of Kafka's definitions", {
  skip: existsSync(libs) ? false : "Kafka's jars are not here; npm run test:kafka fetches them",
  timeout: 60_000,
}, () => {
  assert.deepEqual(differences(libs, "src/protocol"), []);
});
