import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { KafkaError } from "../../src/core/kafka_error.ts";
import { seeded } from "../helpers/seeded.ts";
import { Digest } from "./digest.ts";
import { packed, readOnlyFolder, unpacked } from "./folder.ts";
import { fuzz, fuzzNeighbours, type FuzzTarget, runOnce } from "./fuzz.ts";
import { mutated } from "./mutate.ts";
import { EXECUTIONS, fuzzTargets, SEED } from "./targets.ts";

const TARGETS = await fuzzTargets();
const corpus = fileURLToPath(new URL("corpus", import.meta.url));
/** Written by `npm run fuzz -- --write`. */
const digests: { readonly [target: string]: number } = JSON.parse(
  readFileSync(new URL("digests.json", import.meta.url), "utf8"),
);

describe("damaged input ends in a result or in our error, soon, and alike in every runtime", () => {
  for (const target of TARGETS) {
    test(`${EXECUTIONS} inputs of ${target.name}`, { timeout: 180_000 }, async () => {
      const { digest, failures, growth } = await fuzz(target, { executions: EXECUTIONS, seed: SEED, corpus });
      assert.deepEqual(failures, []);
      assert.ok(growth < 512e6, `the process grew by ${Math.round(growth / 1e6)} MB`);
      // Where what is answered was meant to change, the command above writes what it is now.
      assert.equal(digest, digests[target.name], `digest of ${target.name}`);
    });
  }
});

test("so do every prefix and every flipped bit of the shortest samples", { timeout: 180_000 }, async () => {
  let sum = 0;
  for (const target of TARGETS) {
    const { faults, tried } = await fuzzNeighbours(target, 8);
    assert.deepEqual(faults, []);
    sum += tried;
  }
  assert.ok(sum > 30_000, `${sum} inputs`);
});

describe("what failed once does not fail again", () => {
  for (const target of TARGETS) {
    const folder = `${corpus}/${target.name}`;
    if (!existsSync(folder)) continue;
    for (const file of readdirSync(folder).sort()) {
      test(`${target.name}, ${file}`, async () => {
        const { fault } = await runOnce(target, new Uint8Array(readFileSync(`${folder}/${file}`)));
        assert.equal(fault, undefined);
      });
    }
  }

  test("each folder of the corpus is a target's", () => {
    const names = existsSync(corpus) ? readdirSync(corpus) : [];
    assert.deepEqual(names.filter((name) => !TARGETS.some((target) => target.name === name)), []);
  });
});

describe("the harness", () => {
  const options = { executions: 200, seed: 5 };
  const target = (run: FuzzTarget["run"]): FuzzTarget => ({
    name: "self",
    make: (random) => Uint8Array.of(random() * 256, 1),
    run,
  });
  const broken = async (run: FuzzTarget["run"]) => (await fuzz(target(run), options)).failures[0];

  test("notices foreign errors, changed inputs, and what takes long", async () => {
    assert.match(
      (await broken((input) => void (input[0]! < 20 && (input as unknown as () => void)())))!,
      /^self, seed 5, input \d+ of 2 bytes: TypeError/,
    );
    assert.match((await broken((input) => void (input[1] = 0)))!, /the input was changed/);
    let calls = 0;
    const slow = () => {
      const until = performance.now() + (calls++ < 4 ? 60 : 0);
      while (performance.now() < until);
    };
    assert.match((await broken(slow))!, /input 0 of 2 bytes: took \d+ ms/);
    calls = 1; // slow three times, as a busy machine is
    assert.equal(await broken(slow), undefined);
    assert.match(
      (await broken(() => {
        throw new Error("of somebody else");
      }))!,
      /of somebody else/,
    );
  });

  test("takes our errors for results, and comes to the same digest again", async () => {
    const refusing = target((input, digest) => {
      digest.add(input);
      if (input[0]! < 128) throw new KafkaError("no", { code: `N${input[0]}` });
    });
    const [first, again, other] = [
      await fuzz(refusing, options),
      await fuzz(refusing, options),
      await fuzz(refusing, { ...options, seed: 6 }),
    ];
    assert.ok(first.refused > 50 && first.refused < 150);
    assert.deepEqual([first.digest, first.refused], [again.digest, again.refused]);
    assert.notEqual(first.digest, other.digest);
  });

  test("a digest tells values, kinds and order apart", () => {
    const of = (...values: Parameters<Digest["add"]>[0][]) => {
      const digest = new Digest();
      for (const value of values) digest.add(value);
      return digest.value;
    };
    const seen = [[], [0], ["0"], [null], [undefined], [true], [false], [1, 2], [2, 1], [2 ** 33], [2 ** 33 + 1], [
      NaN,
    ]];
    const all = [...seen.map((values) => of(...values)), of(new Uint8Array(0)), of(Uint8Array.of(0)), of(0.5), of(-1)];
    assert.equal(new Set(all).size, all.length);
  });

  test("mutants differ from each other and from their sample, and follow from the seed", () => {
    const sample = Uint8Array.from({ length: 60 }, (_, i) => i);
    const make = (seed: number) => mutated([sample], seeded(seed));
    const made = Array.from({ length: 500 }, (_, seed) => make(seed).join());
    assert.ok(new Set(made).size > 450);
    assert.ok(made.filter((one) => one === sample.join()).length < 20);
    assert.equal(make(77).join(), made[77]);
    assert.deepEqual([...sample], [...Array(60).keys()]);
    assert.ok(mutated([new Uint8Array(0)], seeded(1)).length >= 0);
  });

  test("a folder is packed into one input and back, and cannot be changed", async () => {
    const files = new Map([["a", Uint8Array.of(1, 2)], ["ü.log", new Uint8Array(0)]]);
    assert.deepEqual(unpacked(packed(files)), files);
    const storage = readOnlyFolder(files);
    const file = await storage.open("a");
    const into = new Uint8Array(5);
    assert.equal(await file.readAt(into, 1), 1);
    assert.deepEqual([...into], [2, 0, 0, 0, 0]);
    for (
      const change of [
        storage.open("b", { create: true }),
        storage.remove("a"),
        storage.rename("a", "c"),
        file.append([into]),
        file.truncate(0),
        file.sync(),
      ]
    ) {
      await assert.rejects(change, (error) => !(error instanceof KafkaError));
    }
    await assert.rejects(storage.open("b"), { code: "ENOENT" });
  });
});
