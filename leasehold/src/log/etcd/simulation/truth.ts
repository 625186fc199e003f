/**
 * The true contents of the log, as seen by an observer of every change at the instant of the change; and the
 * comparison with the words of other parties.
 *
 * When etcd is restored from a backup the log goes on from an earlier point, and the later entries belong to a time
 * that is gone: another *line*, which clients that were told of these entries may still be on for a while.
 */

import type { LogBatch, LogStart } from '../../log.ts';

export interface Entry {
  readonly position: number;
  readonly id: number;
  /** Of this entry and all before. */
  readonly hash: number;
  readonly atMs: number;
  /** The name of the log at that time. */
  readonly history: string;
}

/** One course of the log. A line only grows. */
export class Line {
  readonly entries: Entry[];
  /** The names of the log, one after the other. */
  readonly histories: string[];
  readonly bornAtMs: number;
  /** Once counters were raised, positions must be above this. */
  above = 0;

  constructor(bornAtMs: number, entries: readonly Entry[] = [], histories: readonly string[] = []) {
    this.bornAtMs = bornAtMs;
    this.entries = entries.slice();
    this.histories = histories.slice();
  }

  get head(): number {
    return this.entries.at(-1)?.position ?? 0;
  }

  headAt(trueMs: number): number {
    return this.entries.findLast((entry) => entry.atMs <= trueMs)?.position ?? 0;
  }

  push(position: number, id: number, atMs: number): void {
    const before = this.entries.at(-1)?.hash ?? 0;
    const history = this.histories.at(-1) ?? '';
    this.entries.push({ position, id, hash: (Math.imul(before, 31) + id) | 0, atMs, history });
  }

  /** A snapshot of so many entries. */
  snapshot(count: number, filler: number): { readonly bytes: Uint8Array; readonly position: number } {
    const entry = this.entries[count - 1];
    if (entry === undefined) throw new Error(`there is no entry ${count - 1}`);
    const text = JSON.stringify({ count, hash: entry.hash, filler: '.'.repeat(filler) });
    return { bytes: new TextEncoder().encode(text), position: entry.position };
  }

  /** The number of entries in this start; or the flaw. */
  count({ history, snapshot, batches }: LogStart): number | string {
    if (!this.histories.includes(history)) return `it has the history ${history}`;
    let count = 0;
    if (snapshot !== undefined) {
      const said = JSON.parse(new TextDecoder().decode(snapshot.bytes)) as Partial<Record<string, unknown>>;
      count = Number(said['count']);
      const entry = this.entries[count - 1];
      if (entry?.position !== snapshot.position || entry.hash !== said['hash'])
        return `the snapshot ${snapshot.position} is not what was taken`;
    }
    for (const batch of batches) {
      const flaw = this.flaw(count, batch);
      if (flaw !== undefined) return flaw;
      count += 1;
    }
    return count;
  }

  /** The flaw of a batch as the one after so many entries, told to a follower of that history. */
  flaw(count: number, { position, bytes }: LogBatch, told?: string): string | undefined {
    const entry = this.entries[count];
    const id = batchId(bytes);
    if (entry?.position === position && entry.id === id)
      return told === undefined || told === entry.history
        ? undefined
        : `${position}#${id} is of ${entry.history}`;
    const expected = entry === undefined ? 'the end' : `${entry.position}#${entry.id}`;
    return `${position}#${id} is in the place of ${expected}`;
  }
}

export const batchBytes = (id: number, filler: number): Uint8Array =>
  new TextEncoder().encode(`${id}${'.'.repeat(filler)}`);

export const batchId = (bytes: Uint8Array): number => Number.parseInt(new TextDecoder().decode(bytes), 10);
