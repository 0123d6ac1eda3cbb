import type { StoredFile } from "../../log/storage.ts";

/** A slot of an index file. */
export interface Slot {
  /** Bytes with the slot in them; valid until the next one is asked for. */
  readonly view: DataView;
  /** Where in them it begins. */
  readonly at: number;
}

const SLOTS_AT_A_TIME = 4096;

/** Reads the slots of `size` bytes each that `file` consists of, in order; an unfinished one at the end is left out. */
export async function* readSlots(file: StoredFile, size: number): AsyncGenerator<Slot, void, undefined> {
  const whole = file.size - file.size % size;
  const buffer = new Uint8Array(Math.min(whole, SLOTS_AT_A_TIME * size));
  const view = new DataView(buffer.buffer);
  for (let position = 0; position < whole;) {
    const count = await file.readAt(buffer.subarray(0, Math.min(buffer.length, whole - position)), position);
    if (count < size) return; // the file became shorter
    for (let at = 0; at + size <= count; at += size) yield { view, at };
    position += count - count % size;
  }
}
