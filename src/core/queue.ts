/**
 * First in, first out, in O(1): an array with a head index, cut when half of it is spent.
 *
 * @module
 */

/** A queue. */
export class Queue<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  /** How many items wait. */
  get size(): number {
    return this.#items.length - this.#head;
  }

  /** Adds `item` at the end. */
  push(item: T): void {
    this.#items.push(item);
  }

  /** The first item, left in place; undefined when empty. */
  peek(): T | undefined {
    return this.#items[this.#head];
  }

  /** The last item, left in place; undefined when empty. */
  peekLast(): T | undefined {
    return this.size === 0 ? undefined : this.#items[this.#items.length - 1];
  }

  /** Takes the first item; undefined when empty. */
  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head++] = undefined;
    if (this.#head === this.#items.length) this.clear();
    else if (this.#head >= 1024 && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** Puts `item` before all others. */
  unshift(item: T): void {
    if (this.#head > 0) this.#items[--this.#head] = item;
    else this.#items.unshift(item);
  }

  /** Drops everything. */
  clear(): void {
    this.#items = [];
    this.#head = 0;
  }

  /** The items in order, left in place. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (let i = this.#head; i < this.#items.length; i++) yield this.#items[i] as T;
  }
}
