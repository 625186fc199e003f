/** How fast a count grows, over the last couple of seconds. */

const WINDOW_MS = 2_000;

export class Rate {
  #seen: { readonly count: number; readonly at: number }[] = [];

  see(count: number, at: number = performance.now()): void {
    this.#seen.push({ count, at });
    while (this.#seen.length > 2 && at - (this.#seen[1]?.at ?? at) >= WINDOW_MS) this.#seen.shift();
  }

  forget(): void {
    this.#seen = [];
  }

  get perSecond(): number {
    const [first, last] = [this.#seen[0], this.#seen.at(-1)];
    if (first === undefined || last === undefined || last.at <= first.at) return 0;
    return (1_000 * (last.count - first.count)) / (last.at - first.at);
  }
}
