/** Settings by Kafka's names. */
export type Properties = Readonly<Record<string, string | number | boolean>>;

/** The text of a properties file. Java reads it as ISO 8859-1 with backslash escapes. */
export function propertiesText(properties: Properties): string {
  return Object.entries(properties)
    .map(([key, value]) => `${escape(key, /[\\\s:=#!]/g)}=${escape(String(value), /\\|[\n\r\t\f]|^ /g)}\n`)
    .join("");
}

function escape(text: string, special: RegExp): string {
  return text
    .replace(special, (char) => controlEscapes[char] ?? `\\${char}`)
    // deno-lint-ignore no-control-regex -- "not ASCII" has no other name
    .replace(/[^\x00-\x7e]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const controlEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f" };
