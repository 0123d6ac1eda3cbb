import assert from "node:assert/strict";
import { test } from "node:test";
import { bar, sparkline } from "../../src/cli/sparkline.ts";

test("a sparkline has a character for each number, none for 0, and a full one for the greatest", () => {
  assert.equal(sparkline([0, 1, 4, 8]), " ▂▅█");
  assert.equal(sparkline([0, 0]), "  ");
  assert.equal(sparkline([]), "");
});

test("a bar is as long as its share, and never empty for what is not 0", () => {
  assert.equal(bar(10, 10, 4), "████");
  assert.equal(bar(5, 10, 3), "█▌");
  assert.equal(bar(1, 1_000_000, 10), "▏");
  assert.equal(bar(0, 10, 10), "");
  assert.equal(bar(0, 0, 10), "");
});
