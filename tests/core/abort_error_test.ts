import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { abortable, abortError, throwIfAborted } from "../../src/core/abort_error.ts";
import { deferred } from "../../src/core/deferred.ts";
import { AbortedError, ClosedError } from "../../src/core/kafka_error.ts";

describe("abortError", () => {
  test("wraps a foreign reason and passes one of ours on", () => {
    const reason = new Error("enough");
    const wrapped = abortError(AbortSignal.abort(reason));
    assert.ok(wrapped instanceof AbortedError);
    assert.equal(wrapped.cause, reason);
    const ours = new ClosedError("closed");
    assert.equal(abortError(AbortSignal.abort(ours)), ours);
  });

  test("throwIfAborted throws only when the signal has fired", () => {
    throwIfAborted(undefined);
    throwIfAborted(new AbortController().signal);
    assert.throws(() => throwIfAborted(AbortSignal.abort("no")), { name: "AbortedError", cause: "no" });
  });
});

describe("abortable", () => {
  test("settles as the promise does when no signal fires", async () => {
    const { signal } = new AbortController();
    assert.equal(await abortable(Promise.resolve(1), undefined), 1);
    assert.equal(await abortable(Promise.resolve(2), signal), 2);
    const error = new Error("failed");
    await assert.rejects(abortable(Promise.reject(error), signal), (thrown: unknown) => thrown === error);
  });

  test("rejects when the signal fires first, and what comes later goes unobserved", async () => {
    const controller = new AbortController();
    const late = deferred<number>();
    const waiting = abortable(late.promise, controller.signal);
    controller.abort("enough");
    await assert.rejects(waiting, { name: "AbortedError", cause: "enough" });
    late.reject(new Error("nobody is there to hear this"));
    await assert.rejects(abortable(Promise.reject(new Error("nor this")), controller.signal), AbortedError);
  });
});
