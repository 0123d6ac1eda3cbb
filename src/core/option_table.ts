/**
 * Options as a table: one row an option, with its Java key, its default, how a value is checked and how text is read.
 * From the table come validation, defaults, {@linkcode optionsFromProperties} and the messages for what is wrong.
 *
 * An option's name is its Java key in camelCase, one rule without exceptions: `linger.ms` is `lingerMs`.
 *
 * @module
 */

import { ConfigError } from "./kafka_error.ts";
import { nearest } from "./nearest.ts";

/** One row: an option that holds a `T`. */
export interface OptionRow<T> {
  /** The key in Java's client, such as `linger.ms`; a name of ours, dotted, where Java has none. */
  readonly key: string;
  /** The value when none is given; absent when there is none. */
  readonly default?: T;
  /** What a value must be, for the message when it is not: "an integer from 0 to 100". */
  readonly expected: string;
  /** Whether `value` is acceptable. */
  accepts(value: unknown): boolean;
  /** The value written as text in a properties file; undefined when the text is none. Absent for options that text cannot give. */
  parse?(text: string): T | undefined;
}

/** Rows for every option of `T`. */
export type OptionTable<T> = { readonly [K in keyof T]-?: OptionRow<Exclude<T[K], undefined>> };

/** `T` with the defaults filled in. */
export type Resolved<T> = { readonly [K in keyof T]-?: T[K] };

/**
 * Checks `given` against `table` and fills in the defaults. An option given as `undefined` counts as not given.
 *
 * @throws ConfigError for an unknown name (with the nearest known one) or a value that does not fit.
 */
export function resolveOptions<T extends object>(what: string, table: OptionTable<T>, given: T): Resolved<T> {
  const resolved: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(table) as [string, OptionRow<unknown>][]) resolved[name] = row.default;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const row = Object.hasOwn(table, name) ? table[name as keyof T] : undefined;
    if (row === undefined) throw unknownOption(what, name, Object.keys(table));
    if (!row.accepts(value)) throw badValue(what, name, row, value);
    resolved[name] = value;
  }
  return resolved as Resolved<T>;
}

/**
 * Reads the rows of `table` out of `properties` with Java's dotted keys; a camelCase name serves as well.
 * The keys used are removed from `properties`, so that what is left over is unknown to this table.
 *
 * @throws ConfigError for text that is not a value of its option.
 */
export function optionsFromProperties<T extends object>(
  what: string,
  table: OptionTable<T>,
  properties: Map<string, string>,
): T {
  const options: Record<string, unknown> = {};
  for (const [name, row] of Object.entries(table) as [string, OptionRow<unknown>][]) {
    for (const key of [row.key, name]) {
      const text = properties.get(key);
      if (text === undefined || row.parse === undefined) continue;
      properties.delete(key);
      const value = row.parse(text.trim());
      if (value === undefined || !row.accepts(value)) throw badValue(what, key, row, text);
      options[name] = value;
    }
  }
  return options as T;
}

/** The error for an option that does not exist. */
export function unknownOption(what: string, name: string, known: readonly string[]): ConfigError {
  const meant = nearest(name, known);
  return new ConfigError(`${what}: unknown option ${name}${meant === undefined ? "" : `; did you mean ${meant}?`}`, {
    code: "UNKNOWN_OPTION",
  });
}

function badValue(what: string, name: string, row: OptionRow<unknown>, value: unknown): ConfigError {
  return new ConfigError(`${what}: ${name} (${row.key}) must be ${row.expected}, not ${describe(value)}`);
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || typeof value !== "object") return String(value);
  return Array.isArray(value) ? "an array" : "an object";
}

/** A whole number within bounds. */
export function integerOption(
  key: string,
  fallback: number,
  min = 0,
  max: number = Number.MAX_SAFE_INTEGER,
): OptionRow<number> {
  return {
    key,
    default: fallback,
    expected: max === Number.MAX_SAFE_INTEGER ? `an integer of at least ${min}` : `an integer from ${min} to ${max}`,
    accepts: (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
    parse: (text) => /^[-+]?\d+$/.test(text) ? Number(text) : undefined,
  };
}

/** True or false. */
export function booleanOption(key: string, fallback: boolean): OptionRow<boolean> {
  return {
    key,
    default: fallback,
    expected: "true or false",
    accepts: (value) => typeof value === "boolean",
    parse: (text) => ({ true: true, false: false } as Record<string, boolean>)[text.toLowerCase()],
  };
}

/** Text; `fallback` undefined means none unless given. */
export function stringOption(key: string, fallback?: string): OptionRow<string> {
  return {
    key,
    ...(fallback === undefined ? {} : { default: fallback }),
    expected: "a non-empty string",
    accepts: (value) => typeof value === "string" && value !== "",
    parse: (text) => text,
  };
}

/** One of a few values; text is compared without regard to case. */
export function choiceOption<T extends string | number>(
  key: string,
  fallback: T,
  choices: readonly T[],
): OptionRow<T> {
  return {
    key,
    default: fallback,
    expected: `one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`,
    accepts: (value) => choices.includes(value as T),
    parse: (text) => choices.find((choice) => String(choice).toLowerCase() === text.toLowerCase()),
  };
}

/** A list of strings, comma-separated in text; one string counts as a list, too. */
export function listOption(key: string, expected: string): OptionRow<string | readonly string[]> {
  return {
    key,
    expected,
    accepts: (value) =>
      typeof value === "string" ? value !== "" : Array.isArray(value) && value.length > 0 &&
        value.every((item) => typeof item === "string" && item !== ""),
    parse: (text) => text.split(",").map((item) => item.trim()).filter((item) => item !== ""),
  };
}

/** A function or an object with methods, given by the program only. */
export function seamOption<T>(key: string, expected: string, fallback?: T): OptionRow<T> {
  return {
    key,
    ...(fallback === undefined ? {} : { default: fallback }),
    expected,
    accepts: (value) => typeof value === "function" || (typeof value === "object" && value !== null),
  };
}
