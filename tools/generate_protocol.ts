/**
 * Writes `src/protocol/` from the message definitions in Kafka's jars: one file an API with request and response, one a
 * stored record under `records/`. Names, types, versions and defaults come from the definitions; their prose is not copied.
 *
 * Run: `node tools/generate_protocol.ts [--check] [--libs DIR]`. The output depends on the jars alone.
 *
 * @module
 */

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { argv, exit } from "node:process";
import { readZip } from "./read_zip.ts";

/** An inclusive range of versions; `max` is infinite for "3+", and a range with max < min is none. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** A field in a definition. */
export interface FieldSpec {
  name: string;
  type: string;
  versions: string;
  nullableVersions?: string;
  taggedVersions?: string;
  flexibleVersions?: string;
  tag?: number;
  default?: string | number | boolean;
  ignorable?: boolean;
  fields?: FieldSpec[];
}

/** A definition. */
export interface MessageSpec {
  apiKey?: number;
  type: "request" | "response" | "header" | "data" | "metadata" | "coordinator-key" | "coordinator-value";
  name: string;
  validVersions: string;
  flexibleVersions?: string;
  latestVersionUnstable?: boolean;
  fields?: FieldSpec[];
  commonStructs?: { name: string; versions: string; fields: FieldSpec[] }[];
}

const ZERO_UUID = "AAAAAAAAAAAAAAAAAAAAAA";
const NONE: Range = { min: 0, max: -1 };

/** Reads "3", "3-5", "3+" or "none". */
export function parseRange(text: string | undefined): Range {
  if (text === undefined || text === "none") return NONE;
  if (text.endsWith("+")) return { min: Number(text.slice(0, -1)), max: Infinity };
  const [min, max] = text.split("-");
  return { min: Number(min), max: Number(max ?? min) };
}

/** The definitions are JSON with line comments. */
function parseSpec(text: string): MessageSpec {
  return JSON.parse(text.replace(/("(?:[^"\\]|\\.)*")|\/\/.*$/gm, (_, string) => string ?? ""));
}

/** A name in snake_case. */
export const snake = (name: string): string =>
  name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/([A-Z]+)([A-Z][a-z])/g, "$1_$2").toLowerCase();
const lowerFirst = (name: string) => name[0]!.toLowerCase() + name.slice(1);

/** Writes the code of one message: its interfaces, its encoder and its decoder. */
class MessageWriter {
  readonly out: string[] = [];
  readonly helpers = new Set<string>();
  readonly #spec: MessageSpec;
  readonly #valid: Range;
  readonly #flexible: Range;
  readonly #structs = new Map<string, FieldSpec[]>();

  constructor(spec: MessageSpec) {
    this.#spec = spec;
    this.#valid = parseRange(spec.validVersions);
    this.#flexible = parseRange(spec.flexibleVersions);
    for (const common of spec.commonStructs ?? []) this.#structs.set(common.name, common.fields);
    this.#collect(spec.fields ?? []);
  }

  get isEmpty(): boolean {
    return this.#valid.max < this.#valid.min;
  }

  write(): void {
    this.#struct(this.#spec.name, this.#spec.fields ?? [], true);
    for (const [name, fields] of this.#structs) this.#struct(this.#typeName(name), fields, false);
  }

  #collect(fields: FieldSpec[]): void {
    for (const field of fields) {
      if (field.fields === undefined) continue;
      this.#structs.set(field.type.replace("[]", ""), field.fields);
      this.#collect(field.fields);
    }
    for (const common of this.#spec.commonStructs ?? []) {
      for (const field of common.fields) {
        if (field.fields !== undefined && !this.#structs.has(field.type.replace("[]", ""))) this.#collect([field]);
      }
    }
  }

  /** Nested structs carry their message's name, since the same short name stands in many messages. */
  #typeName(struct: string): string {
    return struct.startsWith(this.#spec.name) ? struct : this.#spec.name + struct;
  }

  #isStruct(type: string): boolean {
    return this.#structs.has(type);
  }

  #tsType(type: string): string {
    if (type.startsWith("[]")) return `${this.#tsType(type.slice(2))}[]`;
    if (this.#isStruct(type)) return this.#typeName(type);
    switch (type) {
      case "bool":
        return "boolean";
      case "string":
      case "uuid":
        return "string";
      case "bytes":
      case "records":
        return "Uint8Array";
      default:
        return "number";
    }
  }

  #nullable(field: FieldSpec): boolean {
    return parseRange(field.nullableVersions).max >= parseRange(field.nullableVersions).min ||
      field.type === "records" ||
      String(field.default) === "null";
  }

  /** The TypeScript of a field's default, or undefined for a struct, whose default is made of its fields. */
  #default(field: FieldSpec): string {
    const { type } = field;
    const given = field.default;
    if (String(given) === "null") return "null";
    if (type.startsWith("[]")) return "[]";
    if (type === "records") return "null";
    if (type === "bytes") return "NO_BYTES";
    if (type === "string") return JSON.stringify(given ?? "");
    if (type === "uuid") return "ZERO_UUID";
    if (type === "bool") return String(given === true || given === "true");
    if (this.#isStruct(type)) return `default${this.#typeName(type)}()`;
    return String(Number(given ?? 0));
  }

  #struct(name: string, fields: FieldSpec[], top: boolean): void {
    const { out } = this;
    out.push(`/** ${top ? `Kafka's ${name}` : `Part of ${this.#spec.name}`}, versions ${this.#spec.validVersions}. */`);
    out.push(`export interface ${name} {`);
    for (const field of fields) {
      const facts = [`${field.type.replace("[]", "list of ")}, versions ${field.versions}`];
      if (field.nullableVersions !== undefined) facts.push(`null in versions ${field.nullableVersions}`);
      if (field.default !== undefined) facts.push(`default ${field.default}`);
      out.push(`  /** ${facts.join(", ")}. */`);
      out.push(`  ${lowerFirst(field.name)}: ${this.#tsType(field.type)}${this.#nullable(field) ? " | null" : ""};`);
    }
    out.push("}", "");
    this.#encoder(name, fields, top);
    this.#decoder(name, fields, top);
    if (!top && this.#wantsDefault(name)) {
      this.out.push(`function default${name}(): ${name} {`);
      const values = fields.map((field) => `${lowerFirst(field.name)}: ${this.#default(field)}`);
      for (const field of fields) this.#noteHelpers(field);
      this.out.push(`  return { ${values.join(", ")} };`, "}", "");
    }
  }

  /** Single structs (not lists) that may be absent need a value made of defaults. */
  #wantsDefault(name: string): boolean {
    const all = [this.#spec.fields ?? [], ...this.#structs.values()].flat();
    return all.some((f) => !f.type.startsWith("[]") && this.#isStruct(f.type) && this.#typeName(f.type) === name);
  }

  #noteHelpers(field: FieldSpec): void {
    const value = this.#default(field);
    if (value === "NO_BYTES" || value === "ZERO_UUID") this.helpers.add(value);
  }

  /** The condition under which a version within the valid ones is in `range`; "" when always, undefined when never. */
  #when(range: Range): string | undefined {
    const min = Math.max(range.min, this.#valid.min);
    const max = Math.min(range.max, this.#valid.max);
    if (max < min) return undefined;
    const parts: string[] = [];
    if (min > this.#valid.min) parts.push(`version >= ${min}`);
    if (max < this.#valid.max) parts.push(`version <= ${max}`);
    return parts.join(" && ");
  }

  #flex(): string {
    const when = this.#when(this.#flexible);
    return when === undefined ? "false" : when === "" ? "true" : "flexible";
  }

  #head(name: string, top: boolean): void {
    if (top) {
      this.helpers.add("checkVersion");
      this.out.push(`  checkVersion("${name}", version, ${this.#valid.min}, ${this.#valid.max});`);
    }
    if (this.#flex() === "flexible") this.out.push(`  const flexible = ${this.#when(this.#flexible)};`);
  }

  #encoder(name: string, fields: FieldSpec[], top: boolean): void {
    const { out } = this;
    out.push(`/** Writes ${name} in \`version\`. */`);
    out.push(`export function encode${name}(w: Writer, m: Input<${name}>, version: number): void {`);
    this.#head(name, top);
    for (const field of fields) {
      if (field.taggedVersions === undefined) this.#encodeField(name, field);
    }
    const tagged = fields.filter((f) => f.taggedVersions !== undefined);
    this.#encodeTags(name, tagged);
    out.push("}", "");
  }

  #unused(name: string, field: FieldSpec, condition: string): void {
    if (field.ignorable === true) return;
    const value = `m.${lowerFirst(field.name)}`;
    const fallback = this.#default(field);
    const isSet = field.type.startsWith("[]")
      ? `${value} !== undefined && ${value} !== null && ${value}.length > 0`
      : this.#isStruct(field.type)
      ? this.#structIsSet(field, value)
      : field.type === "bytes"
      ? `${value} !== undefined && ${value} !== null && byteLength(${value}) > 0`
      : field.type === "records"
      ? `${value} !== undefined && ${value} !== null`
      : `${value} !== undefined && ${value} !== ${fallback}`;
    if (field.type === "bytes") this.helpers.add("byteLength");
    this.#noteHelpers(field);
    this.helpers.add("unsupportedField");
    this.out.push(`  ${condition}if (${isSet}) unsupportedField("${name}", "${lowerFirst(field.name)}", version);`);
  }

  /** A struct whose fields all have their defaults counts as not set, as in Kafka's own classes. */
  #structIsSet(field: FieldSpec, value: string): string {
    if (this.#default(field) === "null") return `${value} !== undefined && ${value} !== null`;
    this.helpers.add("differs");
    return `${value} !== undefined && ${value} !== null && differs(${value}, ${this.#default(field)})`;
  }

  #encodeField(name: string, field: FieldSpec): void {
    const when = this.#when(parseRange(field.versions));
    if (when === undefined) return;
    this.#noteHelpers(field);
    const value = `m.${lowerFirst(field.name)}`;
    const lines = this.#encodeValue(field, value);
    if (when === "") {
      this.out.push(...lines.map((line) => `  ${line}`));
      return;
    }
    this.out.push(`  if (${when}) {`, ...lines.map((line) => `    ${line}`), "  }");
    this.#unused(name, field, "else ");
  }

  #encodeValue(field: FieldSpec, value: string): string[] {
    const { type } = field;
    const fallback = this.#default(field);
    // A message may forbid flexible lengths for one of its fields (the client id of the request header).
    const flex = field.flexibleVersions === "none" ? "false" : this.#flex();
    if (type.startsWith("[]")) {
      const element = type.slice(2);
      const list = lowerFirst(field.name) + "List";
      const each = this.#isStruct(element)
        ? `encode${this.#typeName(element)}(w, item, version)`
        : this.#encodeScalar(element, "item", flex, false);
      const lines = [`const ${list} = ${this.#orDefault(value, fallback, field)};`];
      if (this.#nullable(field)) {
        lines.push(
          `w.count(${list} === null ? -1 : ${list}.length, ${flex});`,
          `for (const item of ${list} ?? []) ${each};`,
        );
      } else lines.push(`w.count(${list}.length, ${flex});`, `for (const item of ${list}) ${each};`);
      return ["{", ...lines.map((l) => `  ${l}`), "}"];
    }
    if (this.#isStruct(type)) {
      const encode = `encode${this.#typeName(type)}`;
      if (!this.#nullable(field)) return [`${encode}(w, ${value} ?? {}, version);`];
      const absent = fallback === "null" ? "null" : "{}";
      const struct = `${lowerFirst(field.name)}Value`;
      return [
        `const ${struct} = ${value} === undefined ? ${absent} : ${value};`,
        `w.int8(${struct} === null ? -1 : 1);`,
        `if (${struct} !== null) ${encode}(w, ${struct}, version);`,
      ];
    }
    return [`${this.#encodeScalar(type, this.#orDefault(value, fallback, field), flex, this.#nullable(field))};`];
  }

  #orDefault(value: string, fallback: string, field: FieldSpec): string {
    if (!this.#nullable(field) || fallback === "null") return `${value} ?? ${fallback}`;
    return `${value} === undefined ? ${fallback} : ${value}`;
  }

  #encodeScalar(type: string, value: string, flex: string, _nullable: boolean): string {
    switch (type) {
      case "bool":
        return `w.boolean(${value})`;
      case "string":
        return `w.text(${value}, ${flex})`;
      case "bytes":
      case "records":
        return `w.blob(${value}, ${flex})`;
      default:
        return `w.${type}(${value})`;
    }
  }

  #encodeTags(name: string, tagged: FieldSpec[]): void {
    const flex = this.#flex();
    for (const field of tagged) {
      const when = this.#when(parseRange(field.taggedVersions));
      if (when !== undefined && when !== "") this.#unused(name, field, `if (!(${when})) `);
    }
    if (flex === "false") return;
    const body: string[] = [];
    const live = tagged.filter((f) => this.#when(parseRange(f.taggedVersions)) !== undefined)
      .sort((a, b) => a.tag! - b.tag!);
    if (live.length === 0) body.push("w.unsignedVarint(0);");
    else {
      body.push("const tags: [number, Writer][] = [];");
      for (const field of live) {
        this.#noteHelpers(field);
        const value = `m.${lowerFirst(field.name)}`;
        const when = this.#when(parseRange(field.taggedVersions))!;
        const fallback = this.#default(field);
        const isSet = field.type.startsWith("[]")
          ? fallback === "null"
            ? `${value} !== undefined && ${value} !== null`
            : `${value} !== undefined && ${value} !== null && ${value}.length > 0`
          : this.#isStruct(field.type)
          ? this.#structIsSet(field, value)
          : field.type === "bytes" && fallback !== "null"
          ? `${value} !== undefined && ${value} !== null && byteLength(${value}) > 0`
          : `${value} !== undefined && ${value} !== ${fallback}`;
        if (isSet.includes("byteLength")) this.helpers.add("byteLength");
        body.push(`if (${when === "" ? "" : `${when} && `}${isSet}) {`);
        const inner = this.#encodeValue(field, value).map((line) => line.replace(/\bw\b/g, "t"));
        body.push(
          "  const t = new Writer();",
          ...inner.map((line) => `  ${line}`),
          `  tags.push([${field.tag}, t]);`,
          "}",
        );
      }
      body.push("w.unsignedVarint(tags.length);", "for (const [tag, content] of tags) w.tag(tag, content);");
    }
    this.#guarded(flex, body);
  }

  #guarded(flex: string, body: string[]): void {
    if (flex === "true") this.out.push(...body.map((line) => `  ${line}`));
    else if (body.length === 1) this.out.push(`  if (${flex}) ${body[0]}`);
    else this.out.push(`  if (${flex}) {`, ...body.map((line) => `    ${line}`), "  }");
  }

  #decoder(name: string, fields: FieldSpec[], top: boolean): void {
    const { out } = this;
    out.push(`/** Reads ${name} in \`version\`. */`);
    out.push(`export function decode${name}(r: Reader, version: number): ${name} {`);
    this.#head(name, top);
    const flex = this.#flex();
    const tagged = fields.filter((f) => f.taggedVersions !== undefined);
    const live = tagged.filter((f) => this.#when(parseRange(f.taggedVersions)) !== undefined);
    for (const field of fields) {
      this.#noteHelpers(field);
      const variable = lowerFirst(field.name);
      const type = `${this.#tsType(field.type)}${this.#nullable(field) ? " | null" : ""}`;
      if (field.taggedVersions !== undefined) {
        out.push(`  ${live.includes(field) ? "let" : "const"} ${variable}_: ${type} = ${this.#default(field)};`);
        continue;
      }
      const when = this.#when(parseRange(field.versions));
      const value = this.#decodeValue(field);
      if (when === undefined) out.push(`  const ${variable}_: ${type} = ${this.#default(field)};`);
      else if (when === "") out.push(`  const ${variable}_: ${type} = ${value};`);
      else out.push(`  const ${variable}_: ${type} = ${when} ? ${value} : ${this.#default(field)};`);
    }
    if (flex !== "false") {
      if (live.length === 0) this.#guarded(flex, ["r.skipTags();"]);
      else {
        const body = [
          "for (let n = r.unsignedVarint(); n > 0; n--) {",
          "  const tag = r.unsignedVarint();",
          "  const size = r.unsignedVarint();",
          "  const end = r.position + size;",
        ];
        live.forEach((field, i) => {
          const when = this.#when(parseRange(field.taggedVersions))!;
          body.push(
            `  ${i === 0 ? "" : "else "}if (tag === ${field.tag}${when === "" ? "" : ` && ${when}`}) ${
              lowerFirst(field.name)
            }_ = ${this.#decodeValue(field)};`,
          );
        });
        body.push(
          "  else r.take(size);",
          `  if (r.position !== end) throw r.error(\`tag \${tag} of ${name} takes \${size} bytes, not \${r.position - end + size}\`);`,
          "}",
        );
        this.#guarded(flex, body);
      }
    }
    out.push(`  return { ${fields.map((f) => `${lowerFirst(f.name)}: ${lowerFirst(f.name)}_`).join(", ")} };`);
    out.push("}", "");
  }

  #decodeValue(field: FieldSpec): string {
    const { type } = field;
    const flex = field.flexibleVersions === "none" ? "false" : this.#flex();
    const nullable = this.#nullable(field);
    if (type.startsWith("[]")) {
      const element = type.slice(2);
      const each = this.#isStruct(element)
        ? `decode${this.#typeName(element)}(r, version)`
        : this.#decodeScalar(element, flex, false);
      this.helpers.add(nullable ? "listOrNull" : "list");
      return `${nullable ? "listOrNull" : "list"}(r, ${flex}, () => ${each})`;
    }
    if (this.#isStruct(type)) {
      const decode = `decode${this.#typeName(type)}(r, version)`;
      return nullable ? `r.int8() < 0 ? null : ${decode}` : decode;
    }
    return this.#decodeScalar(type, flex, nullable);
  }

  #decodeScalar(type: string, flex: string, nullable: boolean): string {
    switch (type) {
      case "bool":
        return "r.boolean()";
      case "string":
        return nullable ? `r.textOrNull(${flex})` : `r.textField(${flex})`;
      case "bytes":
      case "records":
        return nullable ? `r.blobOrNull(${flex})` : `r.blob(${flex})`;
      default:
        return `r.${type}()`;
    }
  }
}

interface Generated {
  readonly path: string;
  readonly text: string;
}

function file(
  path: string,
  version: string,
  depth: number,
  writers: MessageWriter[],
  tail: string[],
  apiTypes: string[],
): Generated {
  const up = "../".repeat(depth);
  const body = writers.flatMap((writer) => writer.out);
  const helpers = new Set(writers.flatMap((writer) => [...writer.helpers]));
  const text = body.join("\n");
  const api = ["checkVersion", "differs", "list", "listOrNull", "unsupportedField", "NO_BYTES", "ZERO_UUID"].filter((
    h,
  ) => helpers.has(h));
  const types = ["Input", ...apiTypes].sort();
  const names = [...api, ...types.map((t) => `type ${t}`)].join(", ");
  const writerNames = [
    ...(helpers.has("byteLength") ? ["byteLength"] : []),
    text.includes("new Writer()") ? "Writer" : "type Writer",
  ].join(", ");
  const lines = [
    `// Generated by tools/generate_protocol.ts from the message definitions of Apache Kafka ${version}. Do not edit.`,
    "",
    `import type { Reader } from "${up}bytes/reader.ts";`,
    `import { ${writerNames} } from "${up}bytes/writer.ts";`,
    `import { ${names} } from "${depth === 2 ? "../" : "./"}api.ts";`,
    "",
    ...body,
    ...tail,
  ];
  return { path, text: lines.join("\n").trimEnd() + "\n" };
}

/** All message definitions in the jars, with the name of the jar's class that Kafka made of each. */
export function readDefinitions(libs: string): { specs: MessageSpec[]; version: string; classes: Map<string, string> } {
  const specs: MessageSpec[] = [];
  const classes = new Map<string, string>();
  let version = "";
  for (const jar of readdirSync(libs).filter((name) => name.endsWith(".jar")).sort()) {
    version = /^kafka-clients-([\d.]+)\.jar$/.exec(jar)?.[1] ?? version;
    for (const [name, read] of readZip(readFileSync(join(libs, jar)))) {
      if (/(^|\/)common\/message\/[^/]+\.json$/.test(name)) specs.push(parseSpec(new TextDecoder().decode(read())));
      const converter = /^(org\/apache\/kafka\/.*\/(\w+))JsonConverter\.class$/.exec(name);
      if (converter !== null) classes.set(converter[2]!, converter[1]!.replaceAll("/", "."));
    }
  }
  return { specs, version, classes };
}

/** Everything that belongs under `src/protocol/` except the hand-written files, from the jars in `libs`. */
export function generateProtocol(libs: string): Generated[] {
  const { specs, version } = readDefinitions(libs);
  const files: Generated[] = [];
  const byKey = new Map<number, MessageSpec[]>();
  for (const spec of specs) {
    if (spec.fields === undefined) continue;
    if (spec.type === "request" || spec.type === "response") {
      byKey.set(spec.apiKey!, [...byKey.get(spec.apiKey!) ?? [], spec]);
    } else {
      const writer = new MessageWriter(spec);
      if (writer.isEmpty) continue;
      writer.write();
      const isHeader = spec.type === "header";
      const path = isHeader ? `${snake(spec.name)}.ts` : `records/${snake(spec.name)}.ts`;
      files.push(file(path, version, isHeader ? 1 : 2, [writer], recordTail(spec), []));
    }
  }
  for (const [key, pair] of byKey) {
    const request = pair.find((spec) => spec.type === "request")!;
    const response = pair.find((spec) => spec.type === "response")!;
    const writers = [new MessageWriter(request), new MessageWriter(response)];
    if (writers.some((writer) => writer.isEmpty)) continue;
    for (const writer of writers) writer.write();
    const name = request.name.replace(/Request$/, "");
    files.push(file(`${snake(name)}.ts`, version, 1, writers, apiTail(key, name, request), ["ClientApi", "ServerApi"]));
  }
  return files.sort((a, b) => a.path < b.path ? -1 : 1);
}

function numbers(spec: MessageSpec): { min: number; max: number; latest: number; flexibleFrom: number } {
  const valid = parseRange(spec.validVersions);
  const flexible = parseRange(spec.flexibleVersions);
  // An unstable version is written and read, but never picked.
  const max = spec.latestVersionUnstable === true ? valid.max - 1 : valid.max;
  return { min: valid.min, max, latest: valid.max, flexibleFrom: flexible.max < flexible.min ? 32767 : flexible.min };
}

function apiTail(key: number, name: string, request: MessageSpec): string[] {
  const { min, max, flexibleFrom } = numbers(request);
  const api = lowerFirst(name);
  const head =
    `{ key: ${key}, name: "${name}", minVersion: ${min}, maxVersion: ${max}, flexibleFrom: ${flexibleFrom}, `;
  const types = `<${name}Request, ${name}Response>`;
  return [
    `/** ${name} (${key}) as a client sees it. */`,
    `export const ${api}Api: ClientApi${types} = ${head}encodeRequest: encode${name}Request, decodeResponse: decode${name}Response };`,
    "",
    `/** ${name} (${key}) as a broker sees it. */`,
    `export const ${api}ServerApi: ServerApi${types} = ${head}decodeRequest: decode${name}Request, encodeResponse: encode${name}Response };`,
  ];
}

function recordTail(spec: MessageSpec): string[] {
  const { min, latest } = numbers(spec);
  const name = lowerFirst(spec.name);
  return [
    `/** Versions of ${spec.name}${spec.apiKey === undefined ? "" : `, record type ${spec.apiKey}`}. */`,
    `export const ${name}Versions: { readonly type: number; readonly min: number; readonly max: number } = { type: ${
      spec.apiKey ?? -1
    }, min: ${min}, max: ${latest} };`,
  ];
}

const HAND_WRITTEN = new Set(["api.ts", "broker_error.ts", "error_table.ts"]);

/** Paths under `directory` whose text is not what the jars give. */
export function differences(libs: string, directory: string): string[] {
  const wanted = new Map(generateProtocol(libs).map(({ path, text }) => [path, text]));
  const present = [
    ...readdirSync(directory),
    ...readdirSync(join(directory, "records")).map((name) => `records/${name}`),
  ]
    .filter((name) => name.endsWith(".ts") && !HAND_WRITTEN.has(name));
  const wrong = present.filter((path) => wanted.get(path) !== readFileSync(join(directory, path), "utf8"));
  return [...wrong, ...[...wanted.keys()].filter((path) => !present.includes(path))];
}

if (import.meta.main ?? argv[1]?.endsWith("generate_protocol.ts")) {
  const libs = argv.includes("--libs") ? argv[argv.indexOf("--libs") + 1]! : ".cache/kafka/4.3.1/libs";
  const directory = argv.includes("--out") ? argv[argv.indexOf("--out") + 1]! : "src/protocol";
  if (argv.includes("--check")) {
    const wrong = differences(libs, directory);
    for (const path of wrong) console.error(`differs: ${path}`);
    exit(wrong.length === 0 ? 0 : 1);
  }
  mkdirSync(join(directory, "records"), { recursive: true });
  for (const name of readdirSync(directory)) {
    if (name.endsWith(".ts") && !HAND_WRITTEN.has(name)) rmSync(join(directory, name));
  }
  for (const { path, text } of generateProtocol(libs)) writeFileSync(join(directory, path), text);
}
