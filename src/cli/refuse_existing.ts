import { StorageError } from "../core/kafka_error.ts";
import type { CommandIo } from "./command.ts";

/**
 * Refuses an `--out` where something is already.
 *
 * @throws StorageError with code `"NOT_EMPTY"`.
 */
export async function refuseExisting(io: CommandIo, out: string): Promise<void> {
  let present: string | undefined;
  try {
    const { folder, kind, name } = await io.openPath(out);
    present = kind === "file" ? name : [...await folder.list(), ...await folder.folders()][0];
  } catch (error) {
    if (error instanceof StorageError && error.code === "ENOENT") return;
    throw error;
  }
  if (present === undefined) return;
  throw new StorageError(`--out ${out}: nothing is overwritten, and there is ${present}; name a new folder`, {
    code: "NOT_EMPTY",
    file: out,
  });
}
