import fs from "node:fs";
import path from "node:path";
import { KafkaCluster } from "./kafka_cluster.ts";
import { KafkaDistribution } from "./kafka_distribution.ts";
import { LauncherError } from "./launcher_error.ts";

/**
 * Makes the archive of loaded classes (AppCDS) that every later JVM of the launcher maps in: a node is ready in 3 s instead of 5. Optional, since making
 * it takes longer than one start saves. A JVM that the archive does not fit (other Java, other jars) goes on without it.
 */
export async function writeClassArchive(version?: string): Promise<string> {
  const chosen = version === undefined ? {} : { version };
  const distribution = new KafkaDistribution(chosen);
  await distribution.fetch();
  fs.rmSync(distribution.archive, { force: true });
  const staging = fs.mkdtempSync(path.join(distribution.folder, "archive-"));
  try {
    const file = path.join(staging, "classes.jsa");
    // Secure, so that the classes of TLS and SASL are in it.
    const cluster = await KafkaCluster.start({ ...chosen, secure: true, jvm: [`-XX:ArchiveClassesAtExit=${file}`] });
    try {
      const created = await cluster.tool("org.apache.kafka.tools.TopicCommand", [
        ...["--bootstrap-server", "@", "--create", "--topic", "warm"],
      ]);
      if (created.code !== 0) {
        throw new LauncherError(`the topic for the archive could not be made:\n${created.stderr}`);
      }
      // The JVM writes the archive when it ends by itself, 10 s and more.
      await cluster.stopNode(1, 120_000);
      if (!fs.existsSync(file)) throw new LauncherError(`the JVM wrote no archive; its log ends:\n${cluster.log(1)}`);
    } finally {
      await cluster.stop();
    }
    fs.renameSync(file, distribution.archive);
  } finally {
    fs.rmSync(staging, { recursive: true, force: true });
  }
  return distribution.archive;
}
