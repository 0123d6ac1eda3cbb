/**
 * Groups the parts of a message into few writes, for sockets without a vectored write.
 *
 * A write per part costs 2–4 µs; copying small parts into a reused buffer costs less, copying large ones costs more.
 *
 * @module
 */

/**
 * Yields the bytes of `parts` in order: neighbours that fit into `scratch` together as one copy in it, others as they are.
 * What was yielded must be written before the next step, which reuses `scratch`.
 */
export function* gather(parts: readonly Uint8Array[], scratch: Uint8Array): Generator<Uint8Array, undefined> {
  let first = 0;
  let size = 0;
  for (let i = 0; i < parts.length; i++) {
    const length = parts[i]!.length;
    if (size + length > scratch.length) {
      if (size > 0) yield joined(parts, first, i, size, scratch);
      first = i;
      size = 0;
    }
    size += length;
  }
  if (size > 0) yield joined(parts, first, parts.length, size, scratch);
}

/** `parts[from, to)`, of `size` bytes in all, as one piece. */
function joined(parts: readonly Uint8Array[], from: number, to: number, size: number, scratch: Uint8Array): Uint8Array {
  let at = 0;
  for (let i = from; i < to; i++) {
    const part = parts[i]!;
    // Alone, or alone among empty ones: no need to copy. Only such a part may be larger than the scratch buffer.
    if (part.length === size) return part;
    scratch.set(part, at);
    at += part.length;
  }
  return scratch.subarray(0, size);
}
