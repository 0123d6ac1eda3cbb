/** A batch with a right checksum. */
export interface ScannedBatch {
  readonly position: number;
  readonly size: number;
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly crc: number;
}

const IEEE = crcTable(0xedb88320);
const CASTAGNOLI = crcTable(0x82f63b78);
const scanned = new WeakMap<Uint8Array, readonly ScannedBatch[]>();

/**
 * All batches in `bytes` with a right checksum and possible offsets, at whatever byte. It shares no code with the library: what the
 * rescue finds is compared with it.
 */
export function scanBatches(bytes: Uint8Array): readonly ScannedBatch[] {
  let found = scanned.get(bytes);
  if (found === undefined) scanned.set(bytes, found = scan(bytes));
  return found;
}

function scan(bytes: Uint8Array): ScannedBatch[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const found: ScannedBatch[] = [];
  for (let position = 0; position + 26 <= bytes.length;) {
    const batch = batchAt(bytes, view, position);
    if (batch !== undefined) found.push(batch);
    position += batch?.size ?? 1;
  }
  return found;
}

function batchAt(bytes: Uint8Array, view: DataView, position: number): ScannedBatch | undefined {
  const size = 12 + view.getInt32(position + 8);
  const magic = bytes[position + 16]!;
  if (magic > 2 || size < [26, 34, 61][magic]! || position + size > bytes.length) return undefined;
  const [table, covered, stored] = magic === 2 ? [CASTAGNOLI, 21, 17] as const : [IEEE, 16, 12] as const;
  const crc = view.getUint32(position + stored);
  if (crcOf(table, bytes, position + covered, position + size) !== crc) return undefined;
  const base = view.getBigInt64(position);
  const last = magic === 2 ? base + BigInt(view.getInt32(position + 23)) : base;
  if (base < 0n || last < base || last > BigInt(Number.MAX_SAFE_INTEGER)) return undefined;
  return { position, size, baseOffset: Number(base), lastOffset: Number(last), crc };
}

/** How many of `batches` one can take at most, in their order, so that offsets rise. */
export function mostInOrder(batches: readonly ScannedBatch[]): number {
  const best: number[] = [];
  for (const [i, batch] of batches.entries()) {
    let most = 0;
    for (let j = 0; j < i; j++) {
      if (best[j]! > most && batches[j]!.lastOffset < batch.baseOffset) most = best[j]!;
    }
    best.push(most + 1);
  }
  return Math.max(0, ...best);
}

function crcOf(table: Uint32Array, bytes: Uint8Array, from: number, until: number): number {
  let crc = 0xffffffff;
  for (let i = from; i < until; i++) crc = table[(crc ^ bytes[i]!) & 255]! ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

function crcTable(polynomial: number): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, n) => {
    let crc = n;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 0 ? crc >>> 1 : (crc >>> 1) ^ polynomial;
    return crc >>> 0;
  });
}
