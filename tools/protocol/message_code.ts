/**
 * Turns one message definition into TypeScript: interfaces, an encoder and a decoder.
 *
 * There is one function a struct and direction. All versions share it, with conditions only where they differ: a second
 * copy for flexible versions would double the bundle.
 *
 * @module
 */

import {
  camelCase,
  elementOf,
  type FieldSpec,
  integerDefault,
  intersection,
  isBigint,
  isEmpty,
  isNullByDefault,
  type MessageSpec,
  parseRange,
  type Range,
  structsOf,
  versionsOf,
} from "./definitions.ts";

const WIDTH = 120;

/** A struct (or the message itself) with the versions in which it can be met. */
interface Struct {
  readonly typeName: string;
  readonly fields: readonly FieldSpec[];
  reach: Range;
}

/** The code of one message. */
export class MessageCode {
  /** The declarations, without imports. */
  lines: string[] = [];
  /** Names used from other files. */
  readonly imports: Set<string> = new Set();
  readonly #spec: MessageSpec;
  readonly #flexible: Range;
  readonly #message: Struct;
  readonly #structs = new Map<string, Struct>();
  readonly #hasVersions: boolean;
  readonly #isFlexibleInSome: boolean;

  /** Writes the code of `spec`. */
  constructor(spec: MessageSpec) {
    this.#spec = spec;
    this.#flexible = parseRange(spec.flexibleVersions);
    const reach = parseRange(spec.validVersions);
    this.#message = { typeName: spec.name, fields: spec.fields ?? [], reach };
    this.#hasVersions = reach.max > reach.min;
    this.#isFlexibleInSome = this.#flex(reach) === "flexible";
    this.#findStructs(this.#message, structsOf(spec));
    const all = [this.#message, ...this.#structs.values()];
    for (const struct of all) this.#interface(struct);
    for (const struct of all) this.#encoder(struct);
    for (const struct of all) this.#decoder(struct);
    if (isStored(spec)) this.#fieldTable(this.#message, new Set());
    this.lines = this.lines.flatMap(wrap);
  }

  #describe(): string {
    const { name, type, apiKey, validVersions, latestVersionUnstable } = this.#spec;
    const number = apiKey === undefined
      ? ""
      : type === "request" || type === "response"
      ? `, API ${apiKey}`
      : `, type ${apiKey}`;
    const unstable = latestVersionUnstable ? ", the last one not stable" : "";
    const flexible = isEmpty(this.#flexible) ? "" : `, flexible from ${this.#flexible.min}`;
    return `${name}${number}, versions ${validVersions}${unstable}${flexible}.`;
  }

  /** Finds the structs in the order of their use, each with the versions in which some field leads to it. */
  #findStructs(struct: Struct, definitions: ReadonlyMap<string, readonly FieldSpec[]>): void {
    for (const field of struct.fields) {
      const name = elementOf(field.type) ?? field.type;
      const fields = definitions.get(name);
      if (fields === undefined) continue;
      const reach = intersection(struct.reach, versionsOf(field));
      let inner = this.#structs.get(name);
      if (inner === undefined) {
        // Nested names carry their message's, since the same short name stands in many messages.
        const typeName = name.startsWith(this.#spec.name) ? name : this.#spec.name + name;
        this.#structs.set(name, inner = { typeName, fields, reach });
      } else {
        const both = { min: Math.min(inner.reach.min, reach.min), max: Math.max(inner.reach.max, reach.max) };
        inner.reach = isEmpty(inner.reach) ? reach : isEmpty(reach) ? inner.reach : both;
      }
      this.#findStructs(inner, definitions);
    }
  }

  #use(name: string): string {
    this.imports.add(name);
    return name;
  }

  /** `text` on one line or, when that is too long, broken behind its condition. */
  #push(indent: number, condition: string, text: string): void {
    const pad = " ".repeat(indent);
    if (pad.length + condition.length + text.length < WIDTH) this.lines.push(`${pad}${condition}${text}`);
    else this.lines.push(`${pad}${condition}{`, `${pad}  ${text}`, `${pad}}`);
  }

  /** An expression on one line or, when that is too long, a line for each of its alternatives. */
  #pushLong(indent: number, start: string, expression: string): void {
    const pad = " ".repeat(indent);
    if (pad.length + start.length + expression.length < WIDTH) this.lines.push(`${pad}${start}${expression};`);
    else this.lines.push(`${pad}${start}${expression.replaceAll(" || ", ` ||\n${pad}  `)};`);
  }

  // Types and defaults

  #interface(struct: Struct): void {
    const { typeName, fields } = struct;
    const doc = struct === this.#message ? this.#describe() : `Part of ${this.#spec.name}.`;
    if (fields.length === 0) {
      this.lines.push(`/** ${doc} */`, `export type ${typeName} = Record<string, never>;`, "");
      return;
    }
    this.lines.push(`/** ${doc} */`, `export interface ${typeName} {`);
    for (const field of fields) {
      const facts = [field.type.replace("[]", "list of "), `versions ${field.versions ?? field.taggedVersions}`];
      if (field.nullableVersions !== undefined) facts.push(`null in versions ${field.nullableVersions}`);
      if (field.tag !== undefined) facts.push(`tag ${field.tag}`);
      if (field.default !== undefined && field.default !== null) {
        const given = String(field.default);
        const isCut = field.type === "int64" && Number(given) > Number.MAX_SAFE_INTEGER;
        facts.push(`default ${given === "" ? '""' : given}${isCut ? ` (here ${integerDefault(field)})` : ""}`);
      }
      this.lines.push(`  /** ${facts.join(", ")}. */`, `  ${camelCase(field.name)}: ${this.#typeOf(field)};`);
    }
    this.lines.push("}", "");
  }

  #typeOf(field: FieldSpec): string {
    const element = elementOf(field.type);
    const type = element === undefined ? this.#plainType(field.type, isBigint(field)) : `${this.#plainType(element)}[]`;
    return this.#isNullable(field) ? `${type} | null` : type;
  }

  #plainType(type: string, big = false): string {
    const struct = this.#structs.get(type);
    if (struct !== undefined) return struct.typeName;
    if (type === "bool") return "boolean";
    if (type === "string" || type === "uuid") return "string";
    if (type === "bytes" || type === "records") return "Uint8Array";
    return big ? "bigint" : "number";
  }

  #isNullable(field: FieldSpec): boolean {
    return !isEmpty(parseRange(field.nullableVersions));
  }

  /** What a field is when nothing says otherwise; undefined for a struct, whose default is that of its fields. */
  #default(field: FieldSpec): string | undefined {
    const { type } = field;
    if (isNullByDefault(field) || (type === "records" && this.#isNullable(field))) return "null";
    if (type.startsWith("[]")) return "[]";
    if (type === "bytes" || type === "records") return this.#use("NO_BYTES");
    if (type === "string") return JSON.stringify(field.default ?? "");
    if (type === "uuid") return this.#use("ZERO_UUID");
    if (type === "bool") return String(String(field.default) === "true");
    if (this.#structs.has(type)) return undefined;
    return `${integerDefault(field)}${isBigint(field) ? "n" : ""}`;
  }

  /** An expression that makes the default. */
  #defaultValue(field: FieldSpec): string {
    const given = this.#default(field);
    if (given !== undefined) return given;
    const { fields } = this.#structs.get(field.type)!;
    return `{ ${fields.map((inner) => `${camelCase(inner.name)}: ${this.#defaultValue(inner)}`).join(", ")} }`;
  }

  // Conditions

  /** The condition under which a version that is met in `reach` is in `range`; "" always, undefined never. */
  #when(range: Range, reach: Range): string | undefined {
    const both = intersection(range, reach);
    if (isEmpty(both)) return undefined;
    const parts: string[] = [];
    if (both.min > reach.min) parts.push(`version >= ${both.min}`);
    if (both.max < reach.max) parts.push(`version <= ${both.max}`);
    return parts.join(" && ");
  }

  /** The opposite of `#when`. */
  #unless(range: Range, reach: Range): string | undefined {
    const both = intersection(range, reach);
    if (isEmpty(both)) return "";
    const parts: string[] = [];
    if (both.min > reach.min) parts.push(`version < ${both.min}`);
    if (both.max < reach.max) parts.push(`version > ${both.max}`);
    return parts.length === 0 ? undefined : parts.length === 1 ? parts[0] : `(${parts.join(" || ")})`;
  }

  /** What to pass for `flexible`: the word where versions differ in it, else the constant. */
  #flex(reach: Range, field?: FieldSpec): "flexible" | "true" | "false" {
    // The client id of the request header keeps its old length, so that any broker can read it.
    if (field?.flexibleVersions === "none") return "false";
    const when = this.#when(this.#flexible, reach);
    return when === undefined ? "false" : when === "" ? "true" : "flexible";
  }

  /** Whether the field at `path` has another value than its default; structs by their fields, as in Kafka's classes. */
  #isSet(field: FieldSpec, path: string): string {
    const fallback = this.#default(field);
    if (fallback === undefined) {
      const { fields } = this.#structs.get(field.type)!;
      const ofFields = fields.map((inner) => this.#isSet(inner, `${path}?.${camelCase(inner.name)}`)).join(" || ");
      return this.#isNullable(field) ? `${path} === null || ${ofFields}` : ofFields;
    }
    if (fallback === "[]") return this.#isSetBySize(field, path, `(${path}?.length ?? 0) > 0`);
    if (fallback === "NO_BYTES") {
      return this.#isSetBySize(field, path, `${this.#use("byteLength")}(${path} ?? NO_BYTES) > 0`);
    }
    if (fallback === "false") return `${path} === true`;
    if (fallback === "null" || !this.#isNullable(field)) return `(${path} ?? ${fallback}) !== ${fallback}`;
    return `${path} !== undefined && ${path} !== ${fallback}`;
  }

  #isSetBySize(field: FieldSpec, path: string, bySize: string): string {
    return this.#isNullable(field) ? `${path} === null || ${bySize}` : bySize;
  }

  // Functions

  /** Declares the function of the message, which is public, or of a struct, which is told what the message has found out. */
  #function(head: string, result: string, first: string, struct: Struct, body: () => void): void {
    const isMessage = struct === this.#message;
    const start = this.lines.length;
    body();
    const lines = this.lines.splice(start);
    const uses = (word: string): boolean => lines.some((line) => new RegExp(`\\b${word}\\b`).test(line));
    const parameters = first.split(", ").map((parameter) => uses(parameter[0]!) ? parameter : `_${parameter}`);
    if (isMessage) parameters.push("version: number");
    else {
      if (this.#hasVersions) parameters.push(`${uses("version") ? "" : "_"}version: number`);
      if (this.#isFlexibleInSome) parameters.push(`${uses("flexible") ? "" : "_"}flexible: boolean`);
    }
    const before = isMessage ? "export function " : "function ";
    const signature = `${before}${head}(${parameters.join(", ")}): ${result} {`;
    if (isMessage) {
      this.lines.push(`/** ${head.startsWith("encode") ? "Writes" : "Reads"} ${struct.typeName} in \`version\`. */`);
    }
    if (signature.length <= WIDTH) this.lines.push(signature);
    else this.lines.push(`${before}${head}(`, ...parameters.map((parameter) => `  ${parameter},`), `): ${result} {`);
    if (isMessage) {
      const { min, max } = struct.reach;
      this.lines.push(`  ${this.#use("checkVersion")}("${struct.typeName}", version, ${min}, ${max});`);
      if (uses("flexible")) this.lines.push(`  const flexible = ${this.#when(this.#flexible, struct.reach)};`);
    }
    this.lines.push(...lines, "}", "");
  }

  /** Arguments of a call of a struct's function. */
  #arguments(first: string): string {
    return [first, ...(this.#hasVersions ? ["version"] : []), ...(this.#isFlexibleInSome ? ["flexible"] : [])].join(
      ", ",
    );
  }

  #encoder(struct: Struct): void {
    if (isEmpty(struct.reach)) return;
    const { typeName, fields } = struct;
    this.#function(`encode${typeName}`, "void", `w: Writer, m: Input<${typeName}>`, struct, () => {
      for (const field of fields) if (field.taggedVersions === undefined) this.#encodeField(struct, field);
      this.#encodeTags(struct);
    });
  }

  /** A field that is set and cannot be written is an error, unless it may be ignored. */
  #refuse({ typeName }: Struct, field: FieldSpec, before: string, isSet?: string): void {
    if (field.ignorable === true) return;
    const name = camelCase(field.name);
    const condition = isSet ?? this.#isSet(field, `m.${name}`);
    this.#push(
      2,
      `${before}if (${condition}) `,
      `${this.#use("unsupportedField")}("${typeName}", "${name}", version);`,
    );
  }

  #encodeField(struct: Struct, field: FieldSpec): void {
    const when = this.#when(versionsOf(field), struct.reach);
    if (when === undefined) return this.#refuse(struct, field, "");
    const lines = this.#encodeValue(struct, field, "w");
    if (when === "") this.lines.push(...lines.map((line) => `  ${line}`));
    else {
      if (lines.length === 1) this.#push(2, `if (${when}) `, lines[0]!);
      else this.lines.push(`  if (${when}) {`, ...lines.map((line) => `    ${line}`), "  }");
      if (this.lines.at(-1) === "  }" && field.ignorable !== true) {
        this.lines.pop();
        this.#refuse(struct, field, "} else ");
      } else this.#refuse(struct, field, "else ");
    }
  }

  #encodeValue(struct: Struct, field: FieldSpec, w: string): string[] {
    const { type } = field;
    const name = camelCase(field.name);
    const flex = this.#flex(struct.reach, field);
    const fallback = this.#default(field);
    const isNullable = this.#isNullable(field);
    const lines: string[] = [];
    const unless = isNullable
      ? this.#unless(parseRange(field.nullableVersions), intersection(struct.reach, versionsOf(field)))
      : undefined;
    if (unless !== undefined) {
      const isNull = fallback === "null" ? `(m.${name} ?? null) === null` : `m.${name} === null`;
      const condition = unless === "" ? isNull : `${unless} && ${isNull}`;
      lines.push(`if (${condition}) ${this.#use("unsupportedNull")}("${struct.typeName}", "${name}", version);`);
    }
    const given = isNullable && fallback !== "null"
      ? `m.${name} === undefined ? ${fallback ?? "{}"} : m.${name}`
      : `m.${name} ?? ${fallback ?? "{}"}`;
    const element = elementOf(type);
    if (element !== undefined) {
      const inner = this.#structs.get(element);
      const item = inner === undefined ? this.#use(`write${pascal(element)}`) : `encode${inner.typeName}`;
      lines.push(`${this.#use("writeList")}(${w}, ${given}, ${this.#version()}, ${flex}, ${item});`);
    } else if (this.#structs.has(type)) {
      const encode = `encode${this.#structs.get(type)!.typeName}`;
      if (!isNullable) lines.push(`${encode}(${this.#arguments(`${w}, ${given}`)});`);
      else {
        lines.push(
          `const ${name} = ${given};`,
          // Kafka marks a struct that may be null by another type where it is tagged.
          field.taggedVersions === undefined
            ? `${w}.int8(${name} === null ? -1 : 1);`
            : `${w}.unsignedVarint(${name} === null ? 0 : 1);`,
          `if (${name} !== null) ${encode}(${this.#arguments(`${w}, ${name}`)});`,
        );
      }
    } else if (type === "string") lines.push(`${w}.text(${given}, ${flex});`);
    else if (type === "bytes" || type === "records") lines.push(`${w}.blob(${given}, ${flex});`);
    else lines.push(`${w}.${isBigint(field) ? "bigint64" : method(type)}(${given});`);
    return lines;
  }

  #encodeTags(struct: Struct): void {
    const flex = this.#flex(struct.reach);
    const onWire = this.#taggedFields(struct);
    for (const field of struct.fields) {
      if (field.taggedVersions === undefined) continue;
      const isSet = this.#isSet(field, `m.${camelCase(field.name)}`);
      if (!onWire.includes(field)) {
        this.#refuse(struct, field, "", isSet);
        continue;
      }
      const has = `has${field.name}`;
      const when = this.#when(versionsOf(field), struct.reach)!;
      // Where a version without the field refuses it, what is left to write is in a version that has it.
      if (when === "" || field.ignorable !== true) this.#pushLong(2, `const ${has} = `, isSet);
      else this.#pushLong(2, `const ${has} = ${when} && `, isSet.includes("||") ? `(${isSet})` : isSet);
      if (when !== "") this.#refuse(struct, field, "", `${has} && ${this.#unless(versionsOf(field), struct.reach)}`);
    }
    if (flex === "false") return;
    const count = onWire.map((field) => `Number(has${field.name})`).join(" + ");
    const body = [`w.unsignedVarint(${count === "" ? 0 : count});`];
    for (const field of onWire) {
      this.#use("Writer");
      body.push(`if (has${field.name}) {`, "  const t = new Writer(32);");
      body.push(...this.#encodeValue(struct, field, "t").map((line) => `  ${line}`), `  w.tag(${field.tag}, t);`, "}");
    }
    this.#inFlexible(flex, body);
  }

  /** The tagged fields that can be on the wire, in the order of their tags, which is how Kafka writes them. */
  #taggedFields({ fields, reach }: Struct): FieldSpec[] {
    return fields
      .filter((field) => field.taggedVersions !== undefined && !isEmpty(intersection(versionsOf(field), reach)))
      .sort((a, b) => a.tag! - b.tag!);
  }

  #inFlexible(flex: "flexible" | "true", body: readonly string[]): void {
    if (flex === "true") this.lines.push(...body.map((line) => `  ${line}`));
    else if (body.length === 1) this.lines.push(`  if (flexible) ${body[0]}`);
    else this.lines.push("  if (flexible) {", ...body.map((line) => `    ${line}`), "  }");
  }

  #decoder(struct: Struct): void {
    const { typeName, fields, reach } = struct;
    if (isEmpty(reach)) return;
    this.#function(`decode${typeName}`, typeName, "r: Reader", struct, () => {
      const flex = this.#flex(reach);
      // A literal is evaluated in the order of its lines, which is the order on the wire.
      const start = flex === "false" ? "  return {" : `  const m: ${typeName} = {`;
      if (fields.length === 0) this.lines.push(`${start}};`);
      else this.lines.push(start);
      for (const field of fields) this.lines.push(`    ${camelCase(field.name)}: ${this.#decodeField(struct, field)},`);
      if (fields.length > 0) this.lines.push("  };");
      if (flex === "false") return;
      this.#decodeTags(struct, flex);
      this.lines.push("  return m;");
    });
  }

  #decodeField(struct: Struct, field: FieldSpec): string {
    const when = this.#when(versionsOf(field), struct.reach);
    if (field.taggedVersions !== undefined || when === undefined) return this.#defaultValue(field);
    const value = this.#decodeValue(struct, field);
    if (when === "") return value;
    return `${when} ? ${value.includes(" ? ") ? `(${value})` : value} : ${this.#defaultValue(field)}`;
  }

  #decodeValue(struct: Struct, field: FieldSpec): string {
    if (!this.#isNullable(field)) return this.#decodePlain(struct, field, false);
    const when = this.#when(parseRange(field.nullableVersions), intersection(struct.reach, versionsOf(field)));
    if (when === undefined) return this.#decodePlain(struct, field, false);
    if (when === "") return this.#decodePlain(struct, field, true);
    return `${when} ? ${this.#decodePlain(struct, field, true)} : ${this.#decodePlain(struct, field, false)}`;
  }

  #decodePlain(struct: Struct, field: FieldSpec, isNullable: boolean): string {
    const { type } = field;
    const flex = this.#flex(struct.reach, field);
    const element = elementOf(type);
    if (element !== undefined) {
      const inner = this.#structs.get(element);
      const item = inner === undefined ? this.#use(`read${pascal(element)}`) : `decode${inner.typeName}`;
      return `${this.#use(isNullable ? "readListOrNull" : "readList")}(r, ${this.#version()}, ${flex}, ${item})`;
    }
    const inner = this.#structs.get(type);
    if (inner !== undefined) {
      const value = `decode${inner.typeName}(${this.#arguments("r")})`;
      if (!isNullable) return value;
      return `${field.taggedVersions === undefined ? "r.int8() < 0" : "r.unsignedVarint() === 0"} ? null : ${value}`;
    }
    if (type === "string") return `r.${isNullable ? "textOrNull" : "textField"}(${flex})`;
    if (type === "bytes" || type === "records") return `r.${isNullable ? "blobOrNull" : "blob"}(${flex})`;
    return `r.${isBigint(field) ? "bigint64" : method(type)}()`;
  }

  #decodeTags(struct: Struct, flex: "flexible" | "true"): void {
    const fields = this.#taggedFields(struct);
    if (fields.length === 0) return this.#inFlexible(flex, ["r.skipTags();"]);
    const branches = fields.map((field) => {
      const when = this.#when(versionsOf(field), intersection(struct.reach, this.#flexible));
      const condition = `tag === ${field.tag}${when === "" ? "" : ` && ${when}`}`;
      return `if (${condition}) m.${camelCase(field.name)} = ${this.#decodeValue(struct, field)};`;
    });
    this.#inFlexible(flex, [
      "for (let n = r.unsignedVarint(); n > 0; n--) {",
      "  const tag = r.unsignedVarint();",
      "  const end = r.startTag();",
      ...branches.map((branch, i) => `  ${i === 0 ? "" : "else "}${branch}`),
      "  else r.position = end;",
      "  r.endTag(end);",
      "}",
    ]);
  }

  /** A table of a stored message's fields, which `MessageSchema` wants; first those of the structs in it. */
  #fieldTable(struct: Struct, written: Set<Struct>): void {
    const entries: string[] = [];
    for (const field of struct.fields) {
      const both = intersection(versionsOf(field), struct.reach);
      if (isEmpty(both)) continue;
      const inner = this.#structs.get(elementOf(field.type) ?? field.type);
      if (inner !== undefined && !written.has(inner)) this.#fieldTable(inner, written);
      const parts = [`name: "${camelCase(field.name)}"`];
      if (both.min > struct.reach.min) parts.push(`from: ${both.min}`);
      if (both.max < struct.reach.max) parts.push(`until: ${both.max}`);
      if (field.taggedVersions !== undefined) parts.push(`unless: ${this.#defaultValue(field)}`);
      if (inner !== undefined) parts.push(`fields: ${fieldTableName(inner.typeName)}`);
      const entry = `  { ${parts.join(", ")} },`;
      if (entry.length <= WIDTH) entries.push(entry);
      else entries.push("  {", ...parts.map((part) => `    ${part},`), "  },");
    }
    written.add(struct);
    const name = fieldTableName(struct.typeName);
    if (entries.length === 0) this.lines.push(`const ${name}: readonly MessageField[] = [];`, "");
    else this.lines.push(`const ${name}: readonly MessageField[] = [`, ...entries, "];", "");
  }

  #version(): string {
    return this.#hasVersions ? "version" : String(this.#message.reach.min);
  }
}

/** Whether a message is stored in records or files, and not sent. */
export function isStored({ type }: MessageSpec): boolean {
  return type !== "request" && type !== "response" && type !== "header";
}

/** Name of the table with a struct's fields. */
export function fieldTableName(typeName: string): string {
  return `${camelCase(typeName)}Fields`;
}

/** A line that is too long, with the arguments of its call or the terms of its sum on lines of their own. */
function wrap(line: string): string[] {
  if (line.length <= WIDTH) return [line];
  const pad = /^ */.exec(line)![0];
  const choice = /^( *\w+: .*?)( \? .*)( : .*)$/.exec(line);
  if (choice !== null) {
    const [, condition, yes, no] = choice as unknown as [string, string, string, string];
    return [condition, ...wrap(`${pad} ${yes}`), `${pad} ${no}`];
  }
  const call = /^(.*?\b(?:readList|readListOrNull|writeList|unsignedVarint)\()(.*)(\).*)$/.exec(line);
  if (call === null || line.split("readList").length > 2) return [line];
  const [, before, inner, after] = call as unknown as [string, string, string, string];
  const parts = inner.includes(" + ")
    ? `${inner.replaceAll(" + ", " +\n  ")},`.split("\n")
    : inner.split(", ").map((part) => `${part},`);
  return [before, ...parts.map((part) => `${pad}  ${part}`), `${pad}${after}`];
}

/** The reader's and writer's method for a type. */
function method(type: string): string {
  return type === "bool" ? "boolean" : type;
}

function pascal(type: string): string {
  return type[0]!.toUpperCase() + type.slice(1);
}
