import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { propertiesWithoutEffect } from "../../src/producer/from_properties.ts";
import { producerOptionTable } from "../../src/producer/producer_options.ts";

const page = readFileSync(new URL("../../docs/producer.md", import.meta.url), "utf8");

/** The cells of the table that has this head. */
function tableBelow(head: RegExp): string[][] {
  const lines = page.split("\n");
  const start = lines.findIndex((line) => head.test(line));
  assert.ok(start >= 0, String(head));
  const rows = lines.slice(start + 2, lines.findIndex((line, i) => i > start && !line.startsWith("|")));
  return rows.map((row) => row.split("|").slice(1, -1).map((cell) => cell.trim().replaceAll("`", "")));
}

describe("docs/producer.md", () => {
  test("has every option with its Java key and default", () => {
    // Java wants classes where we take functions and objects.
    const javaKeys: Record<string, string> = { partitioner: "partitioner.class", interceptors: "interceptor.classes" };
    const expected = Object.entries(producerOptionTable).map(([name, row]) => [
      name,
      javaKeys[row.key] ?? row.key,
      row.default === undefined ? "none" : JSON.stringify(row.default),
    ]);
    assert.deepEqual(tableBelow(/^\| option /), expected);
  });

  test("has every key without effect, and why", () => {
    assert.deepEqual(tableBelow(/^\| key /), Object.entries(propertiesWithoutEffect));
  });
});
