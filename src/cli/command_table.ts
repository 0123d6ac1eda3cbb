/**
 * The commands. Each is imported when it is called, since starting up is what a person notices first.
 *
 * @module
 */

import type { Command } from "./command.ts";

/** One line of the table. */
export interface CommandEntry {
  /** What it does, in a few words. */
  readonly summary: string;
  /** Imports it. */
  readonly load: () => Promise<Command>;
}

/** All commands by their names; a name of two words belongs to a group. */
export const commandTable: ReadonlyMap<string, CommandEntry> = new Map<string, CommandEntry>([
  ["demo", {
    summary: "send real data into a broker and read it back, over the network and from the files",
    load: async () => (await import("./demo_command.ts")).demoCommand,
  }],
  ["broker", {
    summary: "run a broker for development and tests",
    load: async () => (await import("./broker_command.ts")).brokerCommand,
  }],
  ["produce", {
    summary: "send the lines of the input",
    load: async () => (await import("./produce_command.ts")).produceCommand,
  }],
  ["consume", {
    summary: "print the records of a topic",
    load: async () => (await import("./consume_command.ts")).consumeCommand,
  }],
  ["topic list", {
    summary: "list the topics",
    load: async () => (await import("./topic_command.ts")).topicListCommand,
  }],
  ["topic create", {
    summary: "create a topic",
    load: async () => (await import("./topic_command.ts")).topicCreateCommand,
  }],
  ["topic describe", {
    summary: "show the partitions of topics",
    load: async () => (await import("./topic_command.ts")).topicDescribeCommand,
  }],
  ["topic delete", {
    summary: "delete topics and all that is in them",
    load: async () => (await import("./topic_command.ts")).topicDeleteCommand,
  }],
  ["log ls", {
    summary: "list the segments of log directories, partition folders, archives and URLs",
    load: async () => (await import("./log_ls_command.ts")).logLsCommand,
  }],
  ["log read", {
    summary: "print the records of a partition directory",
    load: async () => (await import("./log_read_command.ts")).logReadCommand,
  }],
  ["log dump", {
    summary: "take segments, indexes, snapshots and checkpoints apart",
    load: async () => (await import("./log_dump_command.ts")).logDumpCommand,
  }],
  ["log find", {
    summary: "tell where in the files a record lies, and how it is found",
    load: async () => (await import("./log_find_command.ts")).logFindCommand,
  }],
  ["log copy", {
    summary: "take partitions, or a range of them, out of backups, archives and URLs",
    load: async () => (await import("./log_copy_command.ts")).logCopyCommand,
  }],
  ["log stats", {
    summary: "count what is in partitions: sizes, codecs, times, producers, keys",
    load: async () => (await import("./log_stats_command.ts")).logStatsCommand,
  }],
  ["log verify", {
    summary: "check partition directories, and say what recovery would lose",
    load: async () => (await import("./log_verify_command.ts")).logVerifyCommand,
  }],
  ["log salvage", {
    summary: "rescue every intact batch of damaged partitions into a new directory",
    load: async () => (await import("./log_salvage_command.ts")).logSalvageCommand,
  }],
  ["doctor", {
    summary: "connect step by step and say where it fails",
    load: async () => (await import("./doctor_command.ts")).doctorCommand,
  }],
]);
