import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deferred } from "../../src/core/deferred.ts";
import { type Place, WaitingLine } from "../../src/producer/waiting_line.ts";

/** A line whose items are served when the test says so, with a record of all that happens. */
function stage(): {
  line: WaitingLine<string>;
  events: string[];
  /** Ends the turn of the item being served. */
  end: (how?: "served" | "thrown") => Promise<void>;
} {
  const events: string[] = [];
  let turn: { place: Place<string>; resolve: () => void; reject: (cause: unknown) => void } | undefined;
  const line = new WaitingLine<string>({
    serve: (place) => {
      events.push(`begin ${place.item}`);
      const { promise, resolve, reject } = deferred<void>();
      turn = { place, resolve, reject };
      return promise;
    },
    failed: (item, cause) => events.push(`failed ${item}: ${cause instanceof Error ? cause.message : cause}`),
  });
  const end = async (how: "served" | "thrown" = "served") => {
    const { place, resolve, reject } = turn!;
    if (how === "thrown") reject("it broke");
    else {
      if (!place.left) {
        place.leave();
        events.push(`served ${place.item}`);
      }
      resolve();
    }
    await new Promise((resolve) => setTimeout(resolve));
  };
  return { line, events, end };
}

describe("WaitingLine", () => {
  test("serves one after the other; one that fails holds nobody up", async () => {
    const { line, events, end } = stage();
    for (const item of ["a", "b", "c"]) line.push(item);
    assert.equal(line.size, 3);
    await end();
    await end("thrown");
    await end();
    assert.deepEqual(events, ["begin a", "served a", "begin b", "failed b: it broke", "begin c", "served c"]);
    assert.equal(line.size, 0);
    line.push("d");
    await end();
    assert.deepEqual(events.slice(-2), ["begin d", "served d"]);
  });

  test("whoever's signal fires is told at once and passed over; after it was served the signal means nothing", async () => {
    const { line, events, end } = stage();
    const [first, second, third] = [new AbortController(), new AbortController(), new AbortController()];
    line.push("a", first.signal);
    line.push("b", second.signal);
    line.push("c", third.signal);
    second.abort(new Error("enough"));
    assert.match(events[1]!, /^failed b: aborted/);
    assert.equal(line.size, 3, "it keeps its place");
    await end();
    first.abort(new Error("too late"));
    third.abort(new Error("in its turn"));
    assert.deepEqual(events.slice(2, 4), ["served a", "begin c"]);
    assert.match(events[4]!, /^failed c: aborted/);
    await end();
    assert.deepEqual([events.length, line.size], [5, 0]);
  });

  test("tells when all that is in it now has left, whatever comes after", async () => {
    const { line, events, end } = stage();
    await line.whenServed();
    line.push("a");
    line.whenServed().then(() => events.push("all gone"));
    line.push("b");
    await end();
    assert.deepEqual(events.toSorted(), ["all gone", "begin a", "begin b", "served a"]);
    await end();
  });

  test("dissolved, it fails everybody once", async () => {
    const { line, events, end } = stage();
    line.push("a");
    line.push("b");
    line.dissolve("closed");
    assert.deepEqual(events, ["begin a", "failed a: closed", "failed b: closed"]);
    line.dissolve("closed");
    await end("thrown");
    assert.deepEqual([events.length, line.size], [3, 0]);
  });
});
