import { type CommandInput, UsageError } from "./command.ts";

/**
 * The form that `-o` asks for, of a command that has these two; text when it is not given.
 *
 * @throws UsageError
 */
export function textOrJson(input: CommandInput): "text" | "json" {
  const form = input.text("output") ?? "text";
  if (form === "text" || form === "json") return form;
  throw new UsageError(`-o ${form}: expected text or json`);
}
