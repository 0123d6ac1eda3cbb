import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { StorageError } from "../../src/core/kafka_error.ts";
import type { Storage } from "../../src/log/storage.ts";
import { fromHex } from "../helpers/hex.ts";

/** A folder: the bytes of each file. Never changed in place, so that copies share them. */
export type Files = ReadonlyMap<string, Uint8Array>;

/** What Kafka's loader made of a folder. */
export interface LoadResult {
  /** Why it refused. */
  readonly error?: string;
  readonly logStartOffset: number;
  readonly logEndOffset: number;
  readonly bytesCut: number;
  readonly batchesRead: number;
}

/** One way to damage a set. */
export interface DamageCase {
  readonly name: string;
  readonly edits: readonly { readonly [field: string]: string | number }[];
  /** Opened without the marker of a clean stop. */
  readonly unclean: LoadResult;
  /** Opened with it. */
  readonly clean: LoadResult;
}

/** A set that is damaged. */
export interface DamageBase {
  readonly base: string;
  readonly partition: string;
  readonly undamagedUnclean: LoadResult;
  readonly undamagedClean: LoadResult;
  readonly cases: readonly DamageCase[];
}

const GOLDEN = fileURLToPath(new URL("../golden/", import.meta.url));

/** All that was damaged: about 1,800 cases of eight sets (tests/golden/README.md, 16-damaged). */
export function damageBases(): readonly DamageBase[] {
  const json = gunzipSync(readFileSync(`${GOLDEN}16-damaged/damage.json.gz`));
  return JSON.parse(new TextDecoder().decode(json)).bases;
}

/** The files of the undamaged set. */
export function baseFiles({ base, partition }: DamageBase): Files {
  const folder = `${GOLDEN}${base}/${partition}`;
  return new Map(readdirSync(folder).map((name) => [name, new Uint8Array(readFileSync(`${folder}/${name}`))]));
}

/** The files after the damage. */
export function damagedFiles(files: Files, edits: DamageCase["edits"]): Files {
  const damaged = new Map(files);
  for (const edit of edits) applyEdit(damaged, edit);
  return damaged;
}

function applyEdit(files: Map<string, Uint8Array>, edit: DamageCase["edits"][number]): void {
  const name = String(edit["file"]);
  const bytes = files.get(name) ?? new Uint8Array(0);
  const at = Number(edit["at"]);
  switch (edit["op"]) {
    case "truncate":
      files.set(name, bytes.slice(0, Number(edit["size"])));
      break;
    case "write": {
      const written = fromHex(String(edit["hex"]));
      const changed = padded(bytes, Math.max(0, at + written.length - bytes.length));
      changed.set(written, at);
      files.set(name, changed);
      break;
    }
    case "xor": {
      const changed = bytes.slice();
      changed[at]! ^= Number(edit["mask"]);
      files.set(name, changed);
      break;
    }
    case "append": {
      const written = fromHex(String(edit["hex"]));
      const changed = padded(bytes, written.length);
      changed.set(written, bytes.length);
      files.set(name, changed);
      break;
    }
    case "appendZeros":
      files.set(name, padded(bytes, Number(edit["count"])));
      break;
    case "create":
      files.set(name, fromHex(String(edit["hex"])));
      break;
    case "delete":
      files.delete(name);
      break;
    case "rename":
      files.delete(name);
      files.set(String(edit["to"]), bytes);
      break;
    case "copy":
      files.set(String(edit["to"]), bytes);
      break;
    case "swap":
      files.set(name, files.get(String(edit["with"]))!);
      files.set(String(edit["with"]), bytes);
      break;
    default:
      throw new Error(`no edit ${JSON.stringify(edit)}`);
  }
}

function padded(bytes: Uint8Array, count: number): Uint8Array {
  const longer = new Uint8Array(bytes.length + count);
  longer.set(bytes);
  return longer;
}

/** The files as a folder that refuses every change. Nothing is copied: there are thousands of such folders. */
export function folderOf(files: Files): Storage {
  const refuse = () => Promise.reject(new StorageError("the source was changed", { code: "EROFS" }));
  return {
    list: () => Promise.resolve([...files.keys()].sort()),
    rename: refuse,
    remove: refuse,
    open: (name, options) => {
      const bytes = files.get(name);
      if (options?.create) return refuse();
      if (bytes === undefined) return Promise.reject(new StorageError(`open ${name}`, { code: "ENOENT", file: name }));
      return Promise.resolve({
        size: bytes.length,
        readAt: (into, position) => {
          const part = bytes.subarray(position, position + into.length);
          into.set(part);
          return Promise.resolve(part.length);
        },
        append: refuse,
        truncate: refuse,
        sync: refuse,
        close: () => Promise.resolve(),
      });
    },
  };
}
