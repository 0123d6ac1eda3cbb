import net from "node:net";
import { host } from "./cluster_layout.ts";

/** Metadata v1, correlation id 1, client id null, no topics: the shortest question for the list of brokers. Not our own client: a tool must not need what it tests. */
const request = Uint8Array.of(0, 0, 0, 14, 0, 3, 0, 1, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0);

/**
 * Ids of the brokers that the broker at `port` knows as ready, or undefined when it does not answer. An open port says less: a broker
 * listens before it is unfenced, and Metadata leaves fenced ones out.
 */
export function visibleBrokers(port: number, timeoutMs = 2000): Promise<number[] | undefined> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    const socket = net.connect(port, host, () => socket.write(request));
    const done = (brokers: number[] | undefined): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(brokers);
    };
    const timer = setTimeout(() => done(undefined), timeoutMs);
    socket.on("error", () => done(undefined));
    socket.on("close", () => done(undefined));
    socket.on("data", (chunk: Uint8Array) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) done(parseBrokers(bytes));
    });
  });
}

/** Size, correlation id, then an array of: id int32, host string, port int32, rack nullable string. */
function parseBrokers(bytes: Buffer): number[] {
  const brokers: number[] = [];
  let at = 12;
  for (let left = bytes.readInt32BE(8); left > 0; left--) {
    brokers.push(bytes.readInt32BE(at));
    at += 4;
    at += 2 + bytes.readInt16BE(at) + 4;
    at += 2 + Math.max(0, bytes.readInt16BE(at));
  }
  return brokers;
}
