/**
 * Which node is asked what any node can answer: one that can take it now before one that must be connected to first, and
 * the bootstrap servers only when no node of the cluster can be had.
 *
 * @module
 */

import type { Random } from "../core/random.ts";
import type { BrokerNode } from "./broker_node.ts";

/** Places in the order; those of the bootstrap servers begin at `BOOTSTRAP`. */
const READY = 0;
const CONNECTING = 1;
const CONNECTABLE = 2;
const THROTTLED = 3;
const BOOTSTRAP = 4;
const WAITING = 8;

/** The best of `nodes`, which may hold bootstrap servers, on the clock's scale at `now`; undefined when there is none. */
export function leastLoaded(nodes: Iterable<BrokerNode>, now: number, random: Random): BrokerNode | undefined {
  let best: BrokerNode | undefined;
  let bestPlace = Infinity;
  let bestValue = Infinity;
  let equals = 1;
  for (const node of nodes) {
    const [place, value] = placeOf(node, now);
    const isEqual = place === bestPlace && value === bestValue;
    // Each of the equals has the same chance.
    if (isEqual && random() * ++equals >= 1) continue;
    if (!isEqual && (place > bestPlace || (place === bestPlace && value > bestValue))) continue;
    if (!isEqual) equals = 1;
    best = node;
    bestPlace = place;
    bestValue = value;
  }
  return best;
}

function placeOf(node: BrokerNode, now: number): readonly [place: number, value: number] {
  const connection = node.connection("main");
  if (connection === undefined && node.backoffUntil > now) return [WAITING, node.backoffUntil];
  const base = node.id < 0 ? BOOTSTRAP : 0;
  if (connection !== undefined) {
    const { inFlight, throttledUntil } = connection;
    return throttledUntil > now ? [base + THROTTLED, throttledUntil] : [base + READY, inFlight];
  }
  return node.isConnecting("main") ? [base + CONNECTING, 0] : [base + CONNECTABLE, node.lastAttempt];
}
