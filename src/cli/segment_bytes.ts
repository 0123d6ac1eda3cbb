import { parseKafkaFileName } from "../log/kafka_file_name.ts";
import type { LogTarget } from "./log_target.ts";

/** Bytes of all segments in the targets, for progress. */
export async function segmentBytesOf(targets: readonly LogTarget[]): Promise<number> {
  let bytes = 0;
  for (const { storage } of targets) {
    for (const name of await storage.list()) {
      const parsed = parseKafkaFileName(name);
      if (parsed?.type !== "log" || parsed.state !== undefined) continue;
      const file = await storage.open(name);
      bytes += file.size;
      await file.close();
    }
  }
  return bytes;
}
