/**
 * Kafka's message definitions: JSON with line comments, in its jars. What they mean stands in Kafka's
 * `generator/src/main/java/org/apache/kafka/message/FieldSpec.java`.
 *
 * @module
 */

import { nodeStorage } from "../../adapters/storage_node.ts";
import { openArchive } from "../../src/log/sources/archive.ts";
import type { Storage } from "../../src/log/storage.ts";

/** A field as its definition has it. */
export interface FieldSpec {
  readonly name: string;
  readonly type: string;
  readonly versions?: string;
  readonly nullableVersions?: string;
  readonly taggedVersions?: string;
  readonly flexibleVersions?: string;
  readonly tag?: number;
  readonly default?: string | number | boolean | null;
  readonly ignorable?: boolean;
  readonly zeroCopy?: boolean;
  readonly fields?: readonly FieldSpec[];
}

/** A message as its definition has it. */
export interface MessageSpec {
  readonly apiKey?: number;
  readonly type: "request" | "response" | "header" | "data" | "metadata" | "coordinator-key" | "coordinator-value";
  readonly name: string;
  readonly validVersions: string;
  readonly flexibleVersions?: string;
  readonly latestVersionUnstable?: boolean;
  readonly fields?: readonly FieldSpec[];
  readonly commonStructs?: readonly { readonly name: string; readonly fields: readonly FieldSpec[] }[];
}

/** What the jars hold. */
export interface Definitions {
  /** Version of Kafka. */
  readonly version: string;
  /** Every message that has a version left, by name. */
  readonly messages: readonly MessageSpec[];
  /** The class that Kafka made of a message, by the class's short name. */
  readonly classes: ReadonlyMap<string, string>;
}

/** An inclusive range of versions; `max` is infinite for "3+", and a range with max < min is empty. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** Where `tools/kafka.ts` puts the jars. */
export const LIBS = ".cache/kafka/4.3.1/libs";

/** The UUID that stands for none. */
export const ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA";

const NONE: Range = { min: 0, max: -1 };

/** Reads "3", "3-5", "3+" or "none". */
export function parseRange(text: string | undefined): Range {
  if (text === undefined || text === "none") return NONE;
  if (text.endsWith("+")) return { min: Number(text.slice(0, -1)), max: Infinity };
  const [min, max] = text.split("-");
  return { min: Number(min), max: Number(max ?? min) };
}

/** The versions that are in both. */
export function intersection(a: Range, b: Range): Range {
  return { min: Math.max(a.min, b.min), max: Math.min(a.max, b.max) };
}

/** Whether no version is in `range`. */
export function isEmpty(range: Range): boolean {
  return range.max < range.min;
}

/** Whether `version` is in `range`. */
export function includes(range: Range, version: number): boolean {
  return version >= range.min && version <= range.max;
}

/** The versions in which a field exists; a tagged one need not say it twice. */
export function versionsOf(field: FieldSpec): Range {
  const { name, versions, taggedVersions } = field;
  if (versions !== undefined && taggedVersions !== undefined && versions !== taggedVersions) {
    throw new Error(`${name} is tagged in some of its versions only, which the generator does not know how to write`);
  }
  return parseRange(field.versions ?? field.taggedVersions);
}

/** The type of a list's elements; undefined when it is no list. */
export function elementOf(type: string): string | undefined {
  return type.startsWith("[]") ? type.slice(2) : undefined;
}

/** Whether the default is null. Only the word says so: Kafka takes JSON's null for no default at all. */
export function isNullByDefault(field: FieldSpec): boolean {
  return field.default === "null";
}

/** Hashes use all 64 bits of their int64, so they cannot be a JavaScript number. */
export function isBigint(field: FieldSpec): boolean {
  return field.type === "int64" && field.name.endsWith("Hash");
}

/**
 * The default of an integer. Kafka's largest int64 stands for "not known" and is no JavaScript number: the largest safe
 * integer stands in for it. (One field has it, a tagged one, so that it is never on the wire.)
 */
export function integerDefault(field: FieldSpec): number {
  return Math.min(Number(field.default ?? 0), Number.MAX_SAFE_INTEGER);
}

/** The structs of a message by name, those in common and those defined where they are used. */
export function structsOf(spec: MessageSpec): Map<string, readonly FieldSpec[]> {
  const structs = new Map<string, readonly FieldSpec[]>();
  const collect = (fields: readonly FieldSpec[]): void => {
    for (const field of fields) {
      if (field.fields === undefined) continue;
      structs.set(elementOf(field.type) ?? field.type, field.fields);
      collect(field.fields);
    }
  };
  collect(spec.fields ?? []);
  for (const { name, fields } of spec.commonStructs ?? []) {
    structs.set(name, fields);
    collect(fields);
  }
  return structs;
}

/** Name in snake_case: `KRaftVersionRecord` → `kraft_version_record`. */
export function snakeCase(name: string): string {
  return name.replace("KRaft", "Kraft").replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
}

/** Name in camelCase. */
export function camelCase(name: string): string {
  return name[0]!.toLowerCase() + name.slice(1);
}

/** File under `src/protocol/` that holds the message, without `.ts`. */
export function pathOf(spec: MessageSpec): string {
  if (spec.type === "request" || spec.type === "response") return snakeCase(spec.name.replace(/Re(quest|sponse)$/, ""));
  return spec.type === "header" ? snakeCase(spec.name) : `records/${snakeCase(spec.name)}`;
}

function parseDefinition(text: string): MessageSpec {
  return JSON.parse(text.replace(/("(?:[^"\\]|\\.)*")|\/\/.*$/gm, (_, string: string | undefined) => string ?? ""));
}

/** Reads all definitions in the jars of `libs`. */
export async function readDefinitions(libs: string): Promise<Definitions> {
  const messages: MessageSpec[] = [];
  const classes = new Map<string, string>();
  let version = "";
  const storage = nodeStorage(libs, { readOnly: true });
  for (const jar of (await storage.list()).filter((name) => name.endsWith(".jar"))) {
    version = /^kafka-clients-([\d.]+)\.jar$/.exec(jar)?.[1] ?? version;
    const archive = await openArchive(await storage.open(jar), jar);
    for (const [folder, files] of archive.folders) {
      for (const name of await files.list()) {
        const path = `${folder}/${name}`;
        if (/^(common\/)?(message|metadata)\/\w+\.json$/.test(path)) {
          const spec = parseDefinition(await textOf(files, name));
          if (!isEmpty(parseRange(spec.validVersions))) messages.push(spec);
        }
        const [, className, short] = /^(org\/apache\/kafka\/.*?(\w+))JsonConverter\.class$/.exec(path) ?? [];
        if (className !== undefined) classes.set(short!, className.replaceAll("/", "."));
      }
    }
    await archive.close();
  }
  if (version === "") throw new Error(`${libs} has no kafka-clients jar`);
  return { version, messages: messages.sort((a, b) => a.name < b.name ? -1 : 1), classes };
}

async function textOf(files: Storage, name: string): Promise<string> {
  const file = await files.open(name);
  const bytes = new Uint8Array(file.size);
  await file.readAt(bytes, 0);
  await file.close();
  return new TextDecoder().decode(bytes);
}
