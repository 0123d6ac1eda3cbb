/**
 * CRC-32 (IEEE, as in zip), the checksum of gzip members and of the message formats before v2.
 *
 * @module
 */

const TABLE: Int32Array = /* @__PURE__ */ makeTable();

function makeTable(): Int32Array {
  const table = new Int32Array(256);
  for (let i = 0; i < 256; i++) {
    let c = i;
    for (let bit = 0; bit < 8; bit++) c = (c >>> 1) ^ ((c & 1) * 0xedb88320);
    table[i] = c;
  }
  return table;
}

/** CRC-32 of `bytes` as an unsigned 32-bit integer; `seed` is the checksum of what came before. */
export function crc32(bytes: Uint8Array, seed = 0): number {
  let c = ~seed;
  for (let i = 0; i < bytes.length; i++) c = TABLE[(c ^ bytes[i]!) & 255]! ^ (c >>> 8);
  return ~c >>> 0;
}
