import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { nodeStorage } from "../../../adapters/storage_node.ts";
import type { StoredFile } from "../../../src/log/storage.ts";

/** A temporary folder, and archives that the system's own programs make in it. */
export class PackingPlace {
  readonly root: string = mkdtempSync(join(tmpdir(), "anykafka-pack-"));
  #made = 0;

  /** Removes it. */
  remove(): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  /** A new folder with `files`, by their paths. */
  folder(files: Readonly<Record<string, string | Uint8Array>>): string {
    const folder = join(this.root, String(this.#made++));
    mkdirSync(folder);
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    return folder;
  }

  /** Runs `command` in `folder`; `OUT` in it stands for the archive, whose path is answered. */
  pack(folder: string, name: string, command: string): string {
    const out = join(this.root, `${this.#made++}-${name}`);
    const { status, stderr } = spawnSync("sh", ["-c", command.replaceAll("OUT", out)], { cwd: folder });
    if (status !== 0) throw new Error(`${command}: ${status} ${stderr}`);
    return out;
  }

  /** Keeps `bytes` as a file. */
  file(name: string, bytes: Uint8Array): string {
    const out = join(this.root, `${this.#made++}-${name}`);
    writeFileSync(out, bytes);
    return out;
  }
}

/** Opens a file of the disk. */
export function openPath(path: string): Promise<StoredFile> {
  const slash = path.lastIndexOf("/");
  return nodeStorage(path.slice(0, slash), { readOnly: true }).open(path.slice(slash + 1));
}

/** Whether `command` can be run here. */
export function hasProgram(command: string): boolean {
  return spawnSync("sh", ["-c", `command -v ${command}`]).status === 0;
}

/** A program that packs the current folder with Python's zipfile: `python3 -c "$PY" …`. */
export function pythonZip(options: {
  readonly method: "STORED" | "DEFLATED" | "BZIP2" | "LZMA";
  readonly zip64?: boolean;
  /** Whether the output cannot be sought, so that sizes follow the data. */
  readonly stream?: boolean;
}): string {
  const program = `
import zipfile, os
class Pipe:
    def __init__(self, file): self.file = file
    def write(self, data): return self.file.write(data)
    def flush(self): self.file.flush()
with open("OUT", "wb") as raw:
    out = ${options.stream === true ? "Pipe(raw)" : "raw"}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_${options.method}) as z:
        for folder, _, names in os.walk("."):
            for name in sorted(names):
                path = os.path.join(folder, name)[2:]
                with open(path, "rb") as source, z.open(path, "w", force_zip64=${
    options.zip64 === true ? "True" : "False"
  }) as entry:
                    entry.write(source.read())
`;
  return `python3 - <<'PY'${program}PY`;
}
