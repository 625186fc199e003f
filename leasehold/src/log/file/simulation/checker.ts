/**
 * Knows all submissions to the log and their answers, and compares them with the contents of the log at every read.
 *
 *     truth    appended, or found by a reader: must be there from then on, always
 *     maybe    submitted and not answered: there or not at the next read, and so for ever
 *     the rest refused, or never submitted: must not be there
 */

import type { LogBatch, LogStart } from '../../log.ts';

export const PROMISES = [
  'nothing-lost',
  'refused-never-appears',
  'terms-grow',
  'opens',
  'clean-stays-clean',
  'damage-noticed',
  'fatal-is-final',
  'replaced-is-noticed',
  'settles',
] as const;

export type PromiseName = (typeof PROMISES)[number];

interface Entry {
  readonly position: number;
  readonly id: number;
  /** Of this entry and all before. */
  readonly hash: number;
}

export class Checker {
  readonly #truth: Entry[] = [];
  #maybe: { readonly position: number; readonly id: number } | undefined;
  #ids = 0;
  #term = 0;
  #history: string | undefined;
  readonly #break: (promise: PromiseName, detail: string) => void;

  constructor(onBreak: (promise: PromiseName, detail: string) => void) {
    this.#break = onBreak;
  }

  /** How many batches must be there. */
  get count(): number {
    return this.#truth.length;
  }

  get head(): number {
    return this.#truth.at(-1)?.position ?? 0;
  }

  /** A batch unlike any other, of about this length. */
  submit(position: number, length: number): LogBatch {
    this.#ids += 1;
    this.#maybe = { position, id: this.#ids };
    return { position, bytes: batchBytes(this.#ids, length) };
  }

  answered(position: number, outcome: 'appended' | 'refused'): void {
    const maybe = this.#maybe;
    this.#maybe = undefined;
    if (maybe?.position !== position) this.#break('nothing-lost', `${position} was answered and not asked`);
    else if (outcome === 'appended') this.#push(maybe);
  }

  elected(term: number): void {
    if (term <= this.#term) this.#break('terms-grow', `term ${term} after term ${this.#term}`);
    this.#term = term;
  }

  /** A snapshot of the first `count` batches. */
  snapshot(count: number, length: number): { readonly bytes: Uint8Array; readonly position: number } {
    const { position, hash } = this.#entry(count - 1);
    return { bytes: new TextEncoder().encode(`${count} ${hash} ${'.'.repeat(length)}`), position };
  }

  /** A read must give the truth, and perhaps the maybes. `damaged`: after harm was done to the files. */
  read(start: LogStart, damaged: boolean): void {
    const flaw = this.#flaw(start);
    if (flaw !== undefined) this.#break(damaged ? 'damage-noticed' : flaw.promise, flaw.detail);
  }

  #flaw(start: LogStart): { readonly promise: PromiseName; readonly detail: string } | undefined {
    const promise = 'nothing-lost';
    this.#history ??= start.history;
    if (start.history !== this.#history) return { promise, detail: 'the log has another history' };
    const skipped = start.snapshot === undefined ? 0 : this.#counted(start.snapshot);
    if (skipped === undefined) return { promise, detail: 'the snapshot is not what was written' };
    const found = start.batches.map(({ position, bytes }) => ({ position, id: batchId(bytes) }));
    for (const [place, { position, id }] of this.#truth.slice(skipped).entries()) {
      const there = found[place];
      if (there === undefined) return { promise, detail: `batch ${position} is gone` };
      if (there.position === position && there.id === id) continue;
      return { promise, detail: `${there.position}#${there.id} is in the place of ${position}#${id}` };
    }
    const maybe = this.#maybe;
    this.#maybe = undefined;
    for (const { position, id } of found.slice(this.#truth.length - skipped)) {
      if (id !== maybe?.id || position !== maybe.position) {
        return { promise: 'refused-never-appears', detail: `${position}#${id} is there and was not written` };
      }
      this.#push(maybe);
    }
    return undefined;
  }

  #counted({ position, bytes }: NonNullable<LogStart['snapshot']>): number | undefined {
    const [, count, hash] = /^(\d+) (-?\d+) \.*$/.exec(new TextDecoder().decode(bytes)) ?? [];
    const entry = this.#truth[Number(count) - 1];
    return entry?.position === position && entry.hash === Number(hash) ? Number(count) : undefined;
  }

  #entry(place: number): Entry {
    const entry = this.#truth[place];
    if (entry === undefined) throw new Error(`there is no entry ${place}`);
    return entry;
  }

  #push({ position, id }: { readonly position: number; readonly id: number }): void {
    const before = this.#truth.at(-1)?.hash ?? 0;
    this.#truth.push({ position, id, hash: (Math.imul(before, 31) + id) | 0 });
  }
}

function batchBytes(id: number, length: number): Uint8Array {
  const bytes = new Uint8Array(4 + length);
  new DataView(bytes.buffer).setUint32(0, id, true);
  for (let at = 4; at < bytes.length; at++) bytes[at] = id * 7 + at;
  return bytes;
}

/** NaN if the bytes were changed. */
function batchId(bytes: Uint8Array): number {
  if (bytes.length < 4) return Number.NaN;
  const id = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const expected = batchBytes(id, bytes.length - 4);
  return bytes.every((byte, at) => byte === expected[at]) ? id : Number.NaN;
}
