import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { CHAOS_FAULTS } from "./chaos_faults.ts";
import { type ChaosMode, chaosRun } from "./chaos_run.ts";

// CHAOS=4/idempotent/17 replays one run; CHAOS_SEEDS=1000 makes it longer.
const [onlyFault, onlyMode, onlySeed] = process.env["CHAOS"]?.split("/") ?? [];
const SEEDS = Number(process.env["CHAOS_SEEDS"] ?? 20);
const MODES: readonly ChaosMode[] = ["idempotent", "acks-1", "acks-0"];

describe("chaos", () => {
  for (const fault of CHAOS_FAULTS) {
    if (onlyFault !== undefined && Number(onlyFault) !== fault.number) continue;
    for (const mode of fault.modes ?? MODES) {
      if (onlyMode !== undefined && onlyMode !== mode) continue;
      test(`fault ${fault.number}, ${mode}: ${fault.name}`, async () => {
        const seeds = onlySeed === undefined ? Array.from({ length: SEEDS }, (_, i) => i + 1) : [Number(onlySeed)];
        for (const seed of seeds) {
          const replay = `CHAOS=${fault.number}/${mode}/${seed} npx node --test tests/chaos/chaos_test.ts`;
          const report = await chaosRun(fault, mode, seed).catch((cause) => {
            throw new Error(`${replay}: ${cause instanceof Error ? cause.message : cause}`, { cause });
          });
          assert.deepEqual(report.violations.slice(0, 5), [], replay);
        }
      });
    }
  }
});
