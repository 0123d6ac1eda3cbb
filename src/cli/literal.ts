const encoder = new TextEncoder();

/** Text that is written often, in words of four bytes. */
export class Literal {
  /** The words, little end first, padded with zeros. */
  readonly words: Int32Array;
  /** Bytes. */
  readonly length: number;

  /** Prepares `text`. */
  constructor(text: string) {
    const bytes = encoder.encode(text);
    const padded = new Uint8Array(Math.ceil(bytes.length / 4) * 4);
    padded.set(bytes);
    const view = new DataView(padded.buffer);
    this.words = Int32Array.from({ length: padded.length / 4 }, (_, i) => view.getInt32(4 * i, true));
    this.length = bytes.length;
  }
}

/** Writes `literal` into `view` from `at` on, and up to three zeros; answers where it ends. */
export function writeLiteral(view: DataView, at: number, { length, words }: Literal): number {
  for (let i = 0; i < words.length; i++) view.setInt32(at + 4 * i, words[i]!, true);
  return at + length;
}
