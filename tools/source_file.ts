/**
 * One TypeScript file as the architecture test sees it: its imports, its exports, and its code without comments and strings.
 *
 * A scanner and a few patterns, not a compiler: enough for a tree whose format is fixed by `deno fmt`, and quick in every runtime.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { posix } from "node:path";

/** One import or re-export. */
export interface Import {
  /** What stands in quotes. */
  readonly specifier: string;
  /** The file it means, relative to the project's folder; undefined for a package or a runtime's module. */
  readonly file: string | undefined;
}

/** A TypeScript file, taken apart. */
export class SourceFile {
  /** Path relative to the project's folder, with forward slashes. */
  readonly path: string;
  /** The file as it is. */
  readonly text: string;
  /** Without comments. */
  readonly code: string;
  /** Without comments, and with empty strings. */
  readonly bare: string;

  /** Takes `text` apart. */
  constructor(path: string, text: string) {
    this.path = path;
    this.text = text;
    [this.code, this.bare] = strip(text);
  }

  /** Reads the file `path` of the project in `root`. */
  static read(root: string, path: string): SourceFile {
    return new SourceFile(path, readFileSync(posix.join(root.replaceAll("\\", "/"), path), "utf8"));
  }

  /** All imports and re-exports, static and dynamic. */
  get imports(): Import[] {
    const found: Import[] = [];
    for (
      const form of [
        /^(?:import|export)\s+[\w\s{},*$]*?\bfrom\s*"([^"]+)"/gm,
        /^import\s*"([^"]+)"/gm,
        /\bimport\(\s*"([^"]+)"/g,
      ]
    ) {
      for (const [, specifier] of this.code.matchAll(form)) {
        const file = specifier!.startsWith(".") ? posix.join(posix.dirname(this.path), specifier!) : undefined;
        found.push({ specifier: specifier!, file });
      }
    }
    return found;
  }

  /** Names of the exported declarations and re-exports. */
  get exports(): string[] {
    const names = [
      ...this.bare.matchAll(
        /^export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:class|interface|type|const|let|function\*?|async function\*?)\s+([\w$]+)/gm,
      ),
    ].map((match) => match[1]!);
    for (const [, list] of this.bare.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}/gm)) {
      names.push(
        ...list!.split(",").map((part) => part.trim().replace(/^type\s+/, "").replace(/^.*\sas\s+/, "")).filter(
          Boolean,
        ),
      );
    }
    return names;
  }

  /** The line number of the first match of `pattern` in the code without comments and strings; undefined where there is none. */
  lineOf(pattern: RegExp): number | undefined {
    const match = pattern.exec(this.bare);
    return match === null ? undefined : this.bare.slice(0, match.index).split("\n").length;
  }

  /** The line number of an `await` or `for await` outside every function; undefined where there is none. */
  get topLevelAwait(): number | undefined {
    let depth = 0;
    for (const match of this.bare.matchAll(/[{}()[\]]|\bawait\b/g)) {
      if ("{([".includes(match[0])) depth += 1;
      else if ("})]".includes(match[0])) depth -= 1;
      else if (depth === 0) return this.bare.slice(0, match.index).split("\n").length;
    }
    return undefined;
  }
}

/** After these a slash starts a regular expression, not a division. */
const beforeRegExp = /(?:^|[(,=:[!&|?{};+\-*%~^<>\n]|\b(?:return|typeof|case|of|in|do|else|void|yield|await))\s*$/;

/** The text without comments, and the text without comments and with empty strings; both keep their lines. */
function strip(text: string): [code: string, bare: string] {
  let code = "";
  let bare = "";
  // For each template that is open: how deep the braces are inside its ${ }.
  const templates: number[] = [];
  const token = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|`|[{}]|\/(?![*/])/g;
  let at = 0;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const between = text.slice(at, match.index);
    code += between;
    bare += between;
    const [found] = match;
    at = match.index + found.length;
    if (found.startsWith("//") || found.startsWith("/*")) {
      const lines = found.replace(/[^\n]/g, "");
      code += lines;
      bare += lines;
    } else if (found === '"' + found.slice(1, -1) + '"' || found === "'" + found.slice(1, -1) + "'") {
      code += found;
      bare += '""';
    } else if (found === "`" || (found === "}" && templates.at(-1) === 0)) {
      if (found === "}") templates.pop();
      // The text of a template, up to its end or its next ${.
      const rest = /^(?:\\[\s\S]|\$(?!\{)|[^\\`$])*/.exec(text.slice(at))![0];
      const open = text.slice(at + rest.length).startsWith("${");
      if (open) templates.push(0);
      const end = open ? 2 : 1;
      code += found + rest + text.slice(at + rest.length, at + rest.length + end);
      bare += rest.replace(/[^\n]/g, "") + (open ? " " : "");
      at += rest.length + end;
      token.lastIndex = at;
    } else if (found === "/") {
      const literal = beforeRegExp.test(bare.slice(-40))
        ? /^(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/\w*/.exec(text.slice(at))
        : null;
      code += found + (literal?.[0] ?? "");
      bare += literal === null ? found : '""';
      at += literal?.[0].length ?? 0;
      token.lastIndex = at;
    } else {
      if (templates.length > 0) templates[templates.length - 1]! += found === "{" ? 1 : -1;
      code += found;
      bare += found;
    }
  }
  return [code + text.slice(at), bare + text.slice(at)];
}
