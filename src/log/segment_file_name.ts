/** The name of a segment's file, or of a producer snapshot: an offset in 20 digits and a suffix. */
export function segmentFileName(
  offset: number,
  suffix: "log" | "index" | "timeindex" | "txnindex" | "snapshot",
): string {
  return `${String(offset).padStart(20, "0")}.${suffix}`;
}
