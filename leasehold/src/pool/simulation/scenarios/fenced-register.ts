/**
 * A resource that looks after itself: one value, and the highest lease number it was written under.
 *
 * No check in an owner can help once the owner has passed it: a pause, or a clock beyond the bound,
 * may lie between the check and the write. Whoever stores the value can still refuse, because
 * numbers only grow from owner to owner. Postgres does it with `WHERE number <= $1`.
 */
export class FencedRegister<T> {
  #number = 0;
  #value: T | undefined;

  get value(): T | undefined {
    return this.#value;
  }

  /** False if somebody has written under a higher number. */
  write(number: number, value: T): boolean {
    if (number < this.#number) return false;
    this.#number = number;
    this.#value = value;
    return true;
  }
}
