import process from "node:process";
import { LauncherError } from "./launcher_error.ts";
import { type Environment, findExecutable, runProgram } from "./processes.ts";

/** Path of `kcat`, the command line of librdkafka; installs it where we may (root and apt), else says how to. */
export async function requireKcat(env: Environment = process.env): Promise<string> {
  const kcat = findExecutable("kcat", env);
  if (kcat !== undefined) return kcat;
  const apt = findExecutable("apt-get", env);
  if (apt === undefined || process.getuid?.() !== 0) {
    throw new LauncherError(
      "`kcat` was not found in PATH; tests use it as a second opinion. Install it (Debian: apt-get install -y kcat, macOS: brew install kcat).",
    );
  }
  for (const args of [["update"], ["install", "-y", "--no-install-recommends", "kcat"]]) {
    const { code, stderr } = await runProgram(apt, args, { env: { ...env, DEBIAN_FRONTEND: "noninteractive" } });
    if (code !== 0) {
      throw new LauncherError(`\`kcat\` is missing, and apt-get ${args[0]} failed with code ${code}:\n${stderr}`);
    }
  }
  const installed = findExecutable("kcat", env);
  if (installed === undefined) throw new LauncherError("apt-get installed kcat, but it is not in PATH");
  return installed;
}
