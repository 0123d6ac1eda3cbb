/**
 * Ends a cluster when the process that started it is gone, however it died.
 *
 * A process of its own, in a session of its own. Standard input is a pipe whose other end only the starter holds; when it closes without the word
 * "stopped", every JVM marked with the cluster's directory is killed. Arguments: the directory, then "temporary" if its data may go.
 *
 * @module
 */
import fs from "node:fs";
import path from "node:path";
import process from "node:process";
import { clusterFiles } from "./cluster_layout.ts";
import { markPrefix } from "./java_runtime.ts";
import { findByArgument, sendSignal } from "./processes.ts";

const [directory, kind] = process.argv.slice(2);

/** All that the starter says before the pipe closes. */
async function lastWords(): Promise<string> {
  let said = "";
  try {
    // Not by the event "close", which Deno does not send for standard input.
    for await (const chunk of process.stdin) said += String(chunk);
  } catch {
    // A pipe that breaks is closed as well.
  }
  return said;
}

if (directory !== undefined && !(await lastWords()).startsWith("stopped")) {
  // For a second none must be left: one may just be being started, by the dead process or by a `restart` in another terminal.
  for (let quiet = 0; quiet < 10; quiet++) {
    for (const { pid } of findByArgument(`${markPrefix}${directory}${path.sep}`)) {
      sendSignal(pid, "SIGKILL");
      quiet = 0;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  if (kind === "temporary") fs.rmSync(clusterFiles.data(directory), { recursive: true, force: true, maxRetries: 3 });
}
