import net from "node:net";
import { controllerOffset, host, listenerOffsets, portsPerNode } from "./cluster_layout.ts";
import { LauncherError } from "./launcher_error.ts";

/**
 * First ports of `count` neighbouring blocks that are free now.
 *
 * Below the range from which the kernel takes ports for outgoing connections (32768 on Linux): there a client that retries a killed node could
 * be given that node's port and connect to itself. The start is random, so that two clusters that start at once hardly ever meet.
 */
export async function freePortBlocks(count: number, random: () => number = Math.random): Promise<number[]> {
  const first = 20_000;
  const blocks = 1_200;
  const start = Math.floor(random() * blocks);
  for (let i = 0; i < blocks; i++) {
    const base = first + portsPerNode * ((start + i) % (blocks - count));
    const bases = Array.from({ length: count }, (_, node) => base + portsPerNode * node);
    const ports = bases.flatMap((port) =>
      [...Object.values(listenerOffsets), controllerOffset].map((offset) => port + offset)
    );
    if ((await Promise.all(ports.map(isFree))).every(Boolean)) return bases;
  }
  throw new LauncherError(
    `no ${count} blocks of ${portsPerNode} free ports between ${first} and ${first + portsPerNode * blocks}`,
  );
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer();
    server.once("error", () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
