/**
 * Text as Java makes it of bytes that are not all UTF-8: `new String(bytes, UTF_8)`. It differs from `TextDecoder` in half
 * a surrogate pair, for which it puts one replacement character instead of one for each byte.
 *
 * @module
 */

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** First byte of a surrogate in three bytes; the second one is 0xa0 to 0xbf. */
const SURROGATE = 0xed;
/** A byte that never is UTF-8. */
const INVALID = 0xff;

/** The text of `bytes`. */
export function javaUtf8(bytes: Uint8Array): string {
  return decoder.decode(isSurrogateIn(bytes) ? withoutSurrogates(bytes) : bytes);
}

function isSurrogateIn(bytes: Uint8Array): boolean {
  for (let at = bytes.indexOf(SURROGATE); at >= 0; at = bytes.indexOf(SURROGATE, at + 1)) {
    if (isSurrogateAt(bytes, at)) return true;
  }
  return false;
}

function isSurrogateAt(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === SURROGATE && bytes[at + 1]! >= 0xa0 && bytes[at + 1]! <= 0xbf;
}

/** With one invalid byte for each surrogate, also for one whose third byte is missing. */
function withoutSurrogates(bytes: Uint8Array): Uint8Array {
  const kept = new Uint8Array(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length;) {
    if (!isSurrogateAt(bytes, at)) kept[length++] = bytes[at++]!;
    else {
      kept[length++] = INVALID;
      at += (bytes[at + 2]! & 0xc0) === 0x80 ? 3 : 2;
    }
  }
  return kept.subarray(0, length);
}
