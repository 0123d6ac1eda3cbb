/**
 * What a user of the npm package writes: `tools/build_npm.ts` compiles and runs it against the packed tarball.
 *
 * @module
 */
import { KafkaError } from "@anykafka/kafka";
import process from "node:process";

const error: Error = new KafkaError("orders-3: tried", { code: "UNKNOWN_SERVER_ERROR" });
if (!(error instanceof KafkaError) || error.code !== "UNKNOWN_SERVER_ERROR") {
  throw new Error("the package does not work");
}
process.stdout.write("the installed package works\n");
