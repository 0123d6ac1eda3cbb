import { concatenate } from "../../src/bytes/concatenate.ts";

/** Numbers that are wrong in a length, a count or an offset more often than others. */
const INTERESTING = [0, 1, -1, -2, 2, 127, 128, 255, 256, 32767, 65535, 0x7fffffff, -0x80000000, 0x10000, 1 << 20];
/** No input gets longer, so that one takes little time. */
const MAX_LENGTH = 16_384;

/** A copy of one of `samples` with a few changes of the kinds that damage and malice make. */
export function mutated(samples: readonly Uint8Array[], random: () => number): Uint8Array {
  const below = (count: number) => Math.floor(random() * count);
  const some = () => samples[below(samples.length)]!;
  let bytes: Uint8Array = some().slice();
  for (let n = 1 + Math.floor(random() ** 2 * 5); n > 0; n--) bytes = changed(bytes, below, some);
  return bytes.length > MAX_LENGTH ? bytes.slice(0, MAX_LENGTH) : bytes;
}

function changed(bytes: Uint8Array, below: (count: number) => number, some: () => Uint8Array): Uint8Array {
  const { length } = bytes;
  // Headers matter most.
  const at = below(5) < 2 ? below(Math.min(length, 70)) : below(length);
  const span = Math.min(length - at, 1 + below(below(4) === 0 ? 200 : 9));
  const kind = length === 0 ? 6 : below(13);
  switch (kind) {
    case 0: // a byte that is the greatest, the least or any
      bytes[at] = [0, 255, 128, below(256)][below(4)]!;
      return bytes;
    case 1:
    case 2: { // a number
      const number = below(3) === 0 ? length - at + below(9) - 4 : INTERESTING[below(INTERESTING.length)]!;
      const width = [1, 2, 4, 8][below(4)]!;
      for (let i = 0; i < width && at + i < length; i++) {
        const shift = kind === 1 ? width - 1 - i : i; // big-endian, or little-endian
        bytes[at + i] = shift < 4 ? number >> (8 * shift) : number < 0 ? 255 : 0;
      }
      return bytes;
    }
    case 3: // bytes that are missing
      return joined(bytes.subarray(0, at), bytes.subarray(at + span));
    case 4: // bytes that come twice
      return joined(bytes.subarray(0, at + span), bytes.subarray(at));
    case 5: // the beginning of another
      return joined(bytes.subarray(0, at), some().subarray(0, 1 + below(100)), bytes.subarray(at));
    case 6: // bytes that do not belong
      return joined(bytes.subarray(0, at), Uint8Array.from({ length: span }, () => below(256)), bytes.subarray(at));
    case 7: // bytes of another place
      bytes.copyWithin(at, below(length), length);
      return bytes;
    case 8: // a cut
      return bytes.slice(0, at);
    case 9: // the end of another
      return joined(bytes.subarray(0, at), tailOf(some(), below));
    case 10: // zeros, as a file system leaves them
      bytes.fill(0, at, at + span);
      return bytes;
    default: // a bit
      bytes[at]! ^= 1 << below(8);
      return bytes;
  }
}

function tailOf(bytes: Uint8Array, below: (count: number) => number): Uint8Array {
  return bytes.subarray(below(bytes.length + 1));
}

const joined = (...parts: readonly Uint8Array[]): Uint8Array => concatenate(parts);
