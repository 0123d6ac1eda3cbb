import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { BrokerNode } from "../../src/client/broker_node.ts";
import { leastLoaded } from "../../src/client/least_loaded.ts";
import { seededRandom } from "../../src/core/random.ts";

const NOW = 1000;

/** What the order looks at. */
interface State {
  readonly id: number;
  readonly inFlight?: number;
  readonly throttledUntil?: number;
  readonly connecting?: boolean;
  readonly backoffUntil?: number;
  readonly lastAttempt?: number;
}

function nodeOf(
  { id, inFlight, throttledUntil = 0, connecting = false, backoffUntil = -Infinity, lastAttempt = -Infinity }: State,
) {
  return {
    id,
    backoffUntil,
    lastAttempt,
    isConnecting: () => connecting,
    connection: () => inFlight === undefined ? undefined : { inFlight, throttledUntil },
  } as unknown as BrokerNode;
}

describe("scenario 42: the least loaded node", () => {
  // Producer specification §9.6; each state is better than all that follow it.
  const order: State[] = [
    { id: 1, inFlight: 0 },
    { id: 2, inFlight: 3 },
    { id: 3, connecting: true },
    { id: 4 },
    { id: 5, lastAttempt: 10, backoffUntil: 900 },
    { id: 6, lastAttempt: 500, backoffUntil: NOW },
    { id: 7, inFlight: 0, throttledUntil: 1500 },
    { id: 8, inFlight: 0, throttledUntil: 9000 },
    { id: -1, inFlight: 2 },
    { id: -2, connecting: true },
    { id: -3, lastAttempt: 10 },
    { id: 9, connecting: true, backoffUntil: 1001, lastAttempt: 100 },
    { id: -4, backoffUntil: 1002 },
    { id: 10, backoffUntil: 1200 },
  ];

  test("is taken in the order of what it costs to ask it", () => {
    const random = seededRandom(1);
    for (let round = 0; round < 50; round++) {
      const left = order.map(nodeOf).sort(() => random() - 0.5);
      for (const { id } of order) {
        const best = leastLoaded(left, NOW, random)!;
        assert.equal(best.id, id);
        left.splice(left.indexOf(best), 1);
      }
      assert.equal(leastLoaded(left, NOW, random), undefined);
    }
  });

  test("of equals each has its turn", () => {
    const random = seededRandom(2);
    const counts = new Map<number, number>();
    const nodes = [1, 2, 3, 4].map((id) => nodeOf({ id }));
    for (let i = 0; i < 4000; i++) {
      const { id } = leastLoaded(nodes, NOW, random)!;
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    // 1000 each, ±5 standard deviations.
    for (const id of [1, 2, 3, 4]) assert.ok(Math.abs(counts.get(id)! - 1000) < 140, `${[...counts]}`);
  });
});
