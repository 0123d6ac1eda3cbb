import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { differences } from "../../tools/generate_protocol.ts";
import { LIBS } from "../../tools/protocol/definitions.ts";

const libs = fileURLToPath(new URL(`../../${LIBS}`, import.meta.url));
const protocol = fileURLToPath(new URL("../../src/protocol", import.meta.url));

test("src/protocol is what the generator makes of Kafka's definitions", {
  skip: existsSync(libs) ? false : "Kafka's jars are not here; npm run test:kafka fetches them",
  timeout: 60_000,
}, async () => {
  assert.deepEqual(await differences(libs, protocol), []);
});
