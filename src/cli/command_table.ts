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
  ["log read", {
    summary: "print the records of a partition directory",
    load: async () => (await import("./log_read_command.ts")).logReadCommand,
  }],
  ["doctor", {
    summary: "connect step by step and say where it fails",
    load: async () => (await import("./doctor_command.ts")).doctorCommand,
  }],
]);
