import { StorageError } from "../core/kafka_error.ts";
import { Log } from "../log/log.ts";
import type { LogTarget } from "./log_target.ts";

/**
 * Opens the log of a target to inspect it: a partition's, or that of a single segment.
 *
 * @throws StorageError, also for a file without records.
 */
export async function openTargetLog({ checkpoints, file, fileType, name, place, storage }: LogTarget): Promise<Log> {
  if (file !== undefined && fileType !== "log") {
    throw new StorageError(`${name}: records are read from a partition's folder or a .log; log dump shows this file`, {
      code: "NOT_A_LOG",
      file: name,
    });
  }
  const { highWatermark, logStartOffset } = checkpoints ?? {};
  return await Log.open(storage, {
    mode: "inspect",
    ...place,
    ...(highWatermark === undefined ? {} : { highWatermark }),
    ...(logStartOffset === undefined ? {} : { logStartOffset }),
  });
}
