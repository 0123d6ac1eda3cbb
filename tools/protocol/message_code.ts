/**
 * Turns one message definition into TypeScript: interfaces, an encoder and a decoder.
 *
 * The code is one function a struct and direction. All versions share it, with a condition only where they differ: twice the code for flexible and
 * other versions would double the bundle.
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
  readonly lines: string[] = [];
  /** Names used from other files. */
  readonly imports: Set<string> = new Set();
  readonly #spec: MessageSpec;
  readonly #flexible: Range;
  readonly #structs = new Map<string, Struct>();

  constructor(spec: MessageSpec) {
    this.#spec = spec;
    this.#flexible = parseRange(spec.flexibleVersions);
    const message = { typeName: spec.name, fields: spec.fields ?? [], reach: parseRange(spec.validVersions) };
    this.#reach(message, structsOf(spec));
    this.#interface(message, `/** ${this.#describe()} */`);
    for (const struct of this.#structs.values()) this.#interface(struct, `/** Part of ${spec.name}. */`);
    this.#encoder(message, true);
    for (const struct of this.#structs.values()) this.#encoder(struct, false);
    this.#decoder(message, true);
    for (const struct of this.#structs.values()) this.#decoder(struct, false);
  }

  #describe(): string {
    const { name, type, apiKey, validVersions, latestVersionUnstable } = this.#spec;
    const number = apiKey === undefined ? "" : type === "request" || type === "response" ? `, API ${apiKey}` : `, type ${apiKey}`;
    const unstable = latestVersionUnstable ? ", the last one not stable" : "";
    const flexible = isEmpty(this.#flexible) ? "" : `, flexible from ${this.#flexible.min}`;
    return `${name}${number}, versions ${validVersions}${unstable}${flexible}.`;
  }

  /** Finds the structs in the order of their use, each with the versions in which some field leads to it. */
  #reach(struct: Struct, definitions: ReadonlyMap<string, readonly FieldSpec[]>): void {
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
      this.#reach(inner, definitions);
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

  // Types and defaults

  #interface({ typeName, fields }: Struct, doc: string): void {
    this.lines.push(doc, `export interface ${typeName} {`);
    for (const field of fields) {
      const facts = [field.type.replace("[]", "list of "), `versions ${field.versions ?? field.taggedVersions}`];
      if (field.nullableVersions !== undefined) facts.push(`null in versions ${field.nullableVersions}`);
      if (field.tag !== undefined) facts.push(`tag ${field.tag}`);
      if (field.default !== undefined) facts.push(`default ${JSON.stringify(field.default).replaceAll('"', "") || '""'}`);
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
      return fields.map((inner) => this.#isSet(inner, `${path}?.${camelCase(inner.name)}`)).join(" || ");
    }
    if (fallback === "[]") return this.#isSetBySize(field, path, `(${path}?.length ?? 0) > 0`);
    if (fallback === "NO_BYTES") return this.#isSetBySize(field, path, `${this.#use("byteLength")}(${path} ?? NO_BYTES) > 0`);
    if (fallback === "false") return `${path} === true`;
    if (fallback === "null" || !this.#isNullable(field)) return `(${path} ?? ${fallback}) !== ${fallback}`;
    return `${path} !== undefined && ${path} !== ${fallback}`;
  }

  #isSetBySize(field: FieldSpec, path: string, bySize: string): string {
    return this.#isNullable(field) ? `${path} === null || ${bySize}` : bySize;
  }

  // Functions

  /** Declares the function of a struct or message; what it does not use it does not take, or takes as `_version`. */
  #function(head: string, result: string, first: string, struct: Struct, isMessage: boolean, body: () => void): void {
    const start = this.lines.length;
    body();
    const lines = this.lines.splice(start);
    const uses = (word: string) => new RegExp(`\\b${word}\\b`).test(lines.join("\n"));
    const parameters = [first];
    const version = isMessage || uses("version") ? "version" : uses("flexible") ? "_version" : undefined;
    if (version !== undefined) parameters.push(`${version}: number`);
    if (!isMessage && uses("flexible")) parameters.push("flexible: boolean");
    if (isMessage) {
      this.lines.push(`/** ${head.startsWith("encode") ? "Writes" : "Reads"} ${struct.typeName} in \`version\`. */`);
    }
    const signature = `${isMessage ? "export " : ""}function ${head}(${parameters.join(", ")}): ${result} {`;
    if (signature.length <= WIDTH) this.lines.push(signature);
    else {
      this.lines.push(signature.slice(0, signature.indexOf("(") + 1), ...parameters.map((parameter) => `  ${parameter},`));
      this.lines.push(`): ${result} {`);
    }
    if (isMessage) {
      const { min, max } = struct.reach;
      this.lines.push(`  ${this.#use("checkVersion")}("${struct.typeName}", version, ${min}, ${max});`);
      if (uses("flexible")) this.lines.push(`  const flexible = ${this.#when(this.#flexible, struct.reach)};`);
    }
    this.lines.push(...lines, "}", "");
  }

  #encoder(struct: Struct, isMessage: boolean): void {
    if (isEmpty(struct.reach)) return;
    const { typeName, fields, reach } = struct;
    this.#function(`encode${typeName}`, "void", `w: Writer, m: Input<${typeName}>`, struct, isMessage, () => {
      for (const field of fields) if (field.taggedVersions === undefined) this.#encodeField(struct, field);
      for (const field of fields) {
        if (field.taggedVersions === undefined) continue;
        const unless = this.#unless(versionsOf(field), reach);
        if (unless !== undefined) this.#refuse(struct, field, unless === "" ? "" : `${unless} && `, "");
      }
      this.#encodeTags(struct);
    });
  }

  /** A field that is set and cannot be written is an error, unless it may be ignored. */
  #refuse({ typeName }: Struct, field: FieldSpec, condition: string, before: string): void {
    if (field.ignorable === true) return;
    const name = camelCase(field.name);
    const isSet = this.#isSet(field, `m.${name}`);
    const both = condition !== "" && isSet.includes("||") ? `(${isSet})` : isSet;
    this.#push(2, `${before}if (${condition}${both}) `, `${this.#use("unsupportedField")}("${typeName}", "${name}", version);`);
  }

  #encodeField(struct: Struct, field: FieldSpec): void {
    const when = this.#when(versionsOf(field), struct.reach);
    if (when === undefined) return this.#refuse(struct, field, "", "");
    const lines = this.#encodeValue(struct, field, "w");
    if (when === "") this.lines.push(...lines.map((line) => `  ${line}`));
    else {
      if (lines.length === 1) this.#push(2, `if (${when}) `, lines[0]!);
      else this.lines.push(`  if (${when}) {`, ...lines.map((line) => `    ${line}`), "  }");
      if (this.lines.at(-1) === "  }" && field.ignorable !== true) {
        this.lines.pop();
        this.#refuse(struct, field, "", "} else ");
      } else this.#refuse(struct, field, "", "else ");
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
      ? `m.${name} === undefined ? ${fallback} : m.${name}`
      : `m.${name} ?? ${fallback ?? "{}"}`;
    const element = elementOf(type);
    if (element !== undefined) {
      const inner = this.#structs.get(element);
      const item = inner === undefined ? this.#use(`write${pascal(element)}`) : `encode${inner.typeName}`;
      lines.push(`${this.#use("writeList")}(${w}, ${given}, version, ${flex}, ${item});`);
    } else if (this.#structs.has(type)) {
      const encode = `encode${this.#structs.get(type)!.typeName}`;
      if (!isNullable) lines.push(`${encode}(${this.#arguments(encode, `${w}, ${given}`, type)});`);
      else {
        if (fallback !== "null") throw new Error(`${this.#spec.name}.${field.name}: a struct that may be null has another default`);
        lines.push(
          `const ${name} = ${given};`,
          `${w}.int8(${name} === null ? -1 : 1);`,
          `if (${name} !== null) ${encode}(${this.#arguments(encode, `${w}, ${name}`, type)});`,
        );
      }
    } else if (type === "string") lines.push(`${w}.text(${given}, ${flex});`);
    else if (type === "bytes" || type === "records") lines.push(`${w}.blob(${given}, ${flex});`);
    else lines.push(`${w}.${isBigint(field) ? "bigint64" : method(type)}(${given});`);
    return lines;
  }

  /** Arguments for a struct's function; as it is written later, it is told what it may want and takes what it uses. */
  #arguments(_callee: string, first: string, type: string): string {
    const { fields, reach } = this.#structs.get(type)!;
    const needs = this.#needs(fields, reach, new Set());
    const more = needs.flexible ? ["version", this.#flex(reach)] : needs.version ? ["version"] : [];
    return [first, ...more].join(", ");
  }
}
