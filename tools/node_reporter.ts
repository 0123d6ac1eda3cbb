/**
 * A reporter for Node's test runner that writes one JSON line a finished test, for `tools/runner.ts` to count.
 *
 * Node's own junit reporter shows a `describe` and a test with sub-tests alike, so a failure of the latter's own body can get lost in it.
 *
 * @module
 */

/** The part of Node's reporter events that is read here. */
interface TestEvent {
  readonly type: string;
  readonly data: {
    readonly name: string;
    readonly nesting: number;
    readonly skip?: boolean | string;
    readonly todo?: boolean | string;
    readonly details: { readonly type?: string; readonly error?: { readonly failureType?: string } };
  };
}

/** One line of the report. */
export interface NodeTestLine {
  /** The test's name. */
  readonly name: string;
  /** Whether it, and not only one of its sub-tests, passed, failed or was skipped. */
  readonly result: "passed" | "failed" | "skipped";
}

/** Turns events into lines. Named as default because Node asks for it. */
export default async function* nodeReporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let lastNesting = 0;
  for await (const { type, data } of events) {
    if (type !== "test:pass" && type !== "test:fail") continue;
    // Children are reported right before their parent.
    const isParent = lastNesting > data.nesting;
    lastNesting = data.nesting;
    const failed = type === "test:fail" && data.details.error?.failureType !== "subtestsFailed" && !data.todo;
    if (!failed && (isParent || data.details.type === "suite")) continue;
    const result = failed ? "failed" : data.skip || data.todo ? "skipped" : "passed";
    yield JSON.stringify({ name: data.name, result } satisfies NodeTestLine) + "\n";
  }
}
