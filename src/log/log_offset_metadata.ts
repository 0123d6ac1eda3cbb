/** An offset and where it lies: what a bound of reading is, so that it costs no look-up. */
export interface LogOffsetMetadata {
  /** The offset. */
  readonly messageOffset: number;
  /** Base offset of the segment it is in; −1 when the place is not known. */
  readonly segmentBaseOffset: number;
  /** Byte in that segment where its batch begins, or the next one; −1 when the place is not known. */
  readonly relativePosition: number;
}
