/** How fast a count grows, over the last couple of seconds. */

const WINDOW_MS = 2_000;

export class Rate {
  #seen: { readonly count: number; readonly seenAt: number }[] = [];

  see(count: number, seenAt: number = performance.now()): void {
    this.#seen.push({ count, seenAt });
    while (this.#seen.length > 2 && seenAt - (this.#seen[1]?.seenAt ?? seenAt) >= WINDOW_MS) {
      this.#seen.shift();
    }
  }

  forget(): void {
    this.#seen = [];
  }

  /** Undefined until it has been seen twice. */
  get perSecond(): number | undefined {
    const [first, last] = [this.#seen[0], this.#seen.at(-1)];
    if (first === undefined || last === undefined || last.seenAt <= first.seenAt) return undefined;
    return (1_000 * (last.count - first.count)) / (last.seenAt - first.seenAt);
  }
}
