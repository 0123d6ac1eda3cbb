/**
 * UTF-8 without an allocation per string. Names in Kafka's protocol are short and mostly ASCII: up to about 24 characters
 * a plain loop beats `TextEncoder` and `TextDecoder` in every runtime; beyond that the built-ins win.
 *
 * @module
 */

const SHORT = 24;
const encoder = new TextEncoder();
// ignoreBOM: a byte-order mark is part of the name, not a hint to the decoder.
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Bytes that `text` takes in UTF-8; a lone surrogate counts as the replacement character, as it is written. */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) length++;
    else if ((unit & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) {
      length += 2; // four bytes for two units
      i++;
    } else length += 2;
  }
  return length;
}

/** Writes `text`, which takes `length` bytes (see {@linkcode utf8Length}), into `into` from `position`. */
export function utf8Write(text: string, length: number, into: Uint8Array, position: number): void {
  if (length === text.length && length <= SHORT) {
    for (let i = 0; i < length; i++) into[position + i] = text.charCodeAt(i);
  } else {
    encoder.encodeInto(text, into.subarray(position, position + length));
  }
}

/** Bytes of `text`. */
export function utf8Encode(text: string): Uint8Array {
  return encoder.encode(text);
}

/** The text in `bytes[start, end)`; malformed sequences become U+FFFD. */
export function utf8Read(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= SHORT) {
    let text = "";
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!;
      if (byte >= 0x80) return decoder.decode(bytes.subarray(start, end));
      text += String.fromCharCode(byte);
    }
    return text;
  }
  return decoder.decode(bytes.subarray(start, end));
}
