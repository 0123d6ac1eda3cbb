import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { nativeCodecs } from "../../adapters/codecs_native.ts";
import { plainCodecs } from "../../src/compression/plain_codecs.ts";
import { compareGoldenSet } from "../../tools/golden/compare_golden_set.ts";
import type { GoldenSet } from "../../tools/golden/golden_set.ts";
import { differences, type Json, UNSAFE, UNSAFE_REST, type View } from "../../tools/golden/differences.ts";
import { type ExpectedSet, parseExpected } from "../../tools/golden/expected_set.ts";
import { GOLDEN_FOLDER, goldenSetNames, readExpected, readGoldenSet } from "../../tools/golden/read_golden_set.ts";

const codecs = { ...plainCodecs, ...nativeCodecs() };

/** Sets that together have every kind of field, see the last test. */
const SETS = [
  "07-transactions",
  "10a-killed-preallocated",
  "11a-consumer-offsets",
  "11b-transaction-state",
  "12-cluster-metadata",
  "15-odd-v2",
];

/** What no answer of ours can be compared with: what was asked, how the set was made, and files that only writing makes. */
const NOT_COMPARED = [
  /^(?:set|partition|note|writtenBy|describedBy|dumpToolError|topicConfig\..*)$/,
  /^segments\[\]\.(?:offsetIndexLookups|timeIndexLookups)\[\]\[0\]$/,
  /^opened\.(?:clean|filesAfterOpenAndClose\[\]\..*)$/,
  /^opened\.(?:offsetByTimestamp|endOffsetForEpoch)\[\]\[0\]$/,
  /^opened\.reads\[\]\.(?:offset|isolation|maxLength|minOneMessage)$/,
  /^consumer\.\w+\.offsetsForTimes\[\]\[0\]$/,
];

type Place = readonly (string | number)[];

/** Each leaf of `value`, with where it is. */
function* leaves(value: Json, place: Place = []): Generator<[Place, Json]> {
  if (typeof value !== "object" || value === null) yield [place, value];
  else if (Array.isArray(value)) { for (const [i, item] of value.entries()) yield* leaves(item, [...place, i]); }
  else for (const [field, inner] of Object.entries(value)) yield* leaves(inner, [...place, field]);
}

/** `batches[3].crc`. */
function pathOf(place: Place): string {
  return place.map((step) => typeof step === "number" ? `[${step}]` : `.${step}`).join("").slice(1);
}

/** The same for all elements of a list, but that the elements of a tuple, which are in lists, differ. */
function patternOf(place: Place): string {
  let isTuple = false;
  return place.map((step) => {
    if (typeof step === "string") {
      isTuple = false;
      return `.${step}`;
    }
    const text = isTuple ? `[${step}]` : "[]";
    isTuple = !isTuple;
    return text;
  }).join("").slice(1);
}

/** One leaf for each pattern that is to be compared. */
function samples(expected: ExpectedSet): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const [place] of leaves(expected as unknown as Json)) {
    const pattern = patternOf(place);
    if (!places.has(pattern) && !NOT_COMPARED.some((rule) => rule.test(pattern))) places.set(pattern, place);
  }
  return places;
}

function changed(value: Json): Json {
  if (typeof value === "number") return value + 1;
  if (typeof value === "string") return `${value}?`;
  if (typeof value === "boolean") return !value;
  return "changed";
}

/** A copy of `expected` with other leaves at `places`. */
function withChanges(expected: ExpectedSet, places: readonly Place[]): ExpectedSet {
  const copy = structuredClone(expected);
  for (const place of places) {
    // deno-lint-ignore no-explicit-any -- any place in any JSON
    let owner: any = copy;
    for (const step of place.slice(0, -1)) owner = owner[step];
    owner[place.at(-1)!] = changed(owner[place.at(-1)!]);
  }
  return copy;
}

/** Paths of those changes that the comparator does not find. */
async function unnoticed(set: GoldenSet, places: readonly Place[]): Promise<string[]> {
  const found: string[] = [];
  for await (const { path } of compareGoldenSet({ ...set, expected: withChanges(set.expected, places) })) {
    found.push(path);
  }
  return places.map(pathOf).filter((path) =>
    !found.some((mismatch) => path.startsWith(mismatch) && /^(?:$|[.[])/.test(path.slice(mismatch.length)))
  );
}

/** What places of others follow from, so that those are not where they should be once it is changed. */
const LEADING = /^(?:batches\[\]\.(?:firstRecord|recordCount)|segments\[\]\.(?:file|baseOffset)|opened\.segments\b.*)$/;

describe("a wrong field in expected.json is found", () => {
  const seen = new Set<string>();
  for (const name of SETS) {
    test(`each kind of field in ${name}`, { timeout: 60_000 }, async () => {
      const set = (await readGoldenSet(join(GOLDEN_FOLDER, name), codecs))!;
      const places = [...samples(set.expected)].filter(([pattern]) => !seen.has(pattern));
      for (const [pattern] of places) seen.add(pattern);
      const [leading, others] = [true, false].map((wanted) =>
        places.filter(([pattern]) => LEADING.test(pattern) === wanted).map(([, place]) => place)
      );
      assert.deepEqual([...await unnoticed(set, leading!), ...await unnoticed(set, others!)], []);
    });
  }

  test("no set has a kind of field that these do not have", () => {
    const others = new Set<string>();
    for (const name of goldenSetNames()) {
      for (const pattern of samples(readExpected(join(GOLDEN_FOLDER, name))!).keys()) {
        if (!seen.has(pattern)) others.add(pattern);
      }
    }
    assert.deepEqual([...others], []);
  });
});

describe("differences", () => {
  const of = (expected: Json, actual: View) => [...differences("", expected, actual)].map(({ path }) => path);

  test("go down to the innermost field", () => {
    const paths = of({ a: [{ b: 1, c: [1, 2] }], d: 3 }, { a: [{ b: 1, c: [1, 3, 4] }], e: null });
    assert.deepEqual(paths, ["a[0].c[1]", "a[0].c[2]", "d", "e"]);
    assert.deepEqual(of({ a: null }, { a: 0 }), ["a"]);
    assert.deepEqual(of([1], { 0: 1 }), [""]);
  });

  test("take a typed error only for an integer that a number cannot hold", () => {
    assert.deepEqual(of({ a: "9007199254740992" }, { a: UNSAFE }), []);
    assert.deepEqual(of({ a: [["-9007199254740992"]] }, { a: [UNSAFE] }), []);
    assert.deepEqual(of({ a: "9007199254740991" }, { a: UNSAFE }), ["a"]);
    assert.deepEqual(of({ a: 1 }, { a: UNSAFE }), ["a"]);
    // What a rounded one would be.
    assert.deepEqual(of({ a: "9007199254740993" }, { a: 9007199254740992 }), ["a"]);
    assert.deepEqual(of([1, "9007199254740993", "9007199254740994"], [1, UNSAFE_REST]), []);
    assert.deepEqual(of([1, 2, "9007199254740993"], [1, UNSAFE_REST]), ["[1]"]);
    assert.deepEqual(of([1], [1, UNSAFE_REST]), ["[1]"]);
  });
});

test("integers beyond 2^53−1 in expected.json become strings, and nothing else does", () => {
  const text =
    '{"a":6669100711220326607,"b":[-9007199254740992,9007199254740991],"c":"6669100711220326607 \\" 1","d":1.5}';
  assert.deepEqual(parseExpected(text) as unknown, {
    a: "6669100711220326607",
    b: ["-9007199254740992", 9007199254740991],
    c: '6669100711220326607 " 1',
    d: 1.5,
  });
});
