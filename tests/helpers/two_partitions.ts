import { MemoryStorage } from "../../src/log/memory_storage.ts";
import { FakeWorld } from "../cli/fake_io.ts";
import { dataBatch, putSegment } from "../log/raw_log.ts";

/** A log directory with the partitions `sound-0` and `broken-0`; of the latter the batch at offset 1 is damaged. */
export async function twoPartitions(): Promise<FakeWorld> {
  const world = new FakeWorld();
  const tree = new MemoryStorage();
  const batches = () => [0, 1, 2].map((offset) => dataBatch({ offset }));
  await putSegment(await tree.folder("sound-0"), 0, batches());
  const broken = batches();
  broken[1]![65]! ^= 1;
  await putSegment(await tree.folder("broken-0"), 0, broken);
  world.folders.set("/data", tree);
  return world;
}
