/** The bytes in base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  // In pieces: a string grown byte by byte costs 60 times the memory, and an argument list has a limit.
  let binary = "";
  for (let at = 0; at < bytes.length; at += PIECE) {
    binary += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  }
  return btoa(binary);
}

const PIECE = 8192;
