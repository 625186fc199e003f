/**
 * What a replica knows again after a start, from the frames on its disk.
 *
 * A frame that cannot be read is harmless only if nothing valid follows it: then it was being written when the power
 * failed, and nobody has heard of it. A damaged frame with a valid one behind it was durable once, and others may rest
 * on what it said. The next valid frame bounds that: it names the last slot of the log before it, so the lost entries lie at
 * or below that slot; and it repeats the promised ballot, so that is not lost (D1).
 *
 *     frames   [ valid: chosen 40 ] [ damaged ] [ valid: last slot before it 52, chosen 60 ]
 *     lost are votes for slots 41 to 52 at most
 *
 *  - If the highest readable chosen mark reaches that slot, every lost entry was chosen: its value is the same everywhere, and
 *    can be fetched from any peer that knows it. Until then the replica stays silent.
 *  - The same holds for a slot that no frame has although a later one is there.
 *  - Several damaged places are told apart: what lies between them need not be fetched. A slot s lies behind some of them and before
 *    the others. When the next valid frame after an earlier one was written, the log did not reach s, so every readable entry of s is younger.
 *    When a later one was written, s was chosen, and a valid frame before had the entry: a chosen value does not change.
 *  - If not, votes are lost. A replica that went on voting could vote twice. It must take a new storage id and join
 *    anew (M4).
 */

import type { Ballot } from './ballot.ts';
import type { Frame, Marks } from './journal.ts';
import type { Entry } from './log.ts';
import type { Snapshot } from './snapshot.ts';

/** What can be read of one frame. */
export type StoredFrame = Frame | 'damaged';

/** From the first to the last of them. */
export interface Slots {
  readonly first: number;
  readonly last: number;
}

export interface Recovered extends Marks {
  /** How many frames with votes there are. */
  readonly votes: number;
  readonly snapshot: Snapshot | undefined;
  /** From the slot after the snapshot on; undefined where a frame was damaged. */
  readonly entries: readonly (Entry | undefined)[];
  /** The slots to fetch before anything else, all of them chosen: spans in order, apart from each other. Empty if none are missing. */
  readonly missing: readonly Slots[];
  /** The disk has less than this: it must be written anew. */
  readonly isRepaired: boolean;
}

export type Recovery =
  | { readonly kind: 'recovered'; readonly state: Recovered }
  /** Votes are lost: this directory must not be used again under its storage id. */
  | { readonly kind: 'votes-lost' };

/** The place of the frame from which a restart begins: the newest whose base is there. Undefined: the first frame of all. */
export function basePlace(
  frames: readonly StoredFrame[],
  hasSnapshot: (slot: number) => boolean,
): number | undefined {
  const place = frames.findLastIndex(
    (frame) =>
      frame !== 'damaged' && frame.base !== undefined && (frame.base === 0 || hasSnapshot(frame.base)),
  );
  return place < 0 ? undefined : place;
}

/** @param snapshots those that are whole on the disk */
export function recover(
  stored: readonly StoredFrame[],
  snapshots: ReadonlyMap<number, Snapshot> = new Map(),
): Recovery {
  const begin = basePlace(stored, (slot) => snapshots.has(slot));
  const frames = stored.slice(begin ?? 0);
  const lastValid = frames.findLastIndex((frame) => frame !== 'damaged');
  const first = frames[0];
  const baseSlot = begin === undefined || first === 'damaged' ? 0 : (first?.base ?? 0);
  const snapshot = snapshots.get(baseSlot);
  const entries = new Map<number, Entry>();
  let marks: Marks = { promised: 0, chosen: 0, committed: 0, holdMs: 0, heard: new Map() };
  let votes = 0;
  let last = baseSlot;
  let isAfterDamage = false;
  const missing = new Spans();
  for (const frame of frames.slice(0, lastValid + 1)) {
    if (frame === 'damaged') {
      isAfterDamage = true;
      continue;
    }
    if (isAfterDamage) {
      missing.add(Math.max(marks.chosen, baseSlot) + 1, Math.max(frame.lastBefore, last));
      last = frame.lastBefore;
      isAfterDamage = false;
    }
    for (const slot of entries.keys()) if (slot > frame.truncateTo) entries.delete(slot);
    last = Math.min(last, frame.truncateTo);
    frame.entries.forEach((entry, place) => entries.set(frame.first + place, entry));
    last = Math.max(last, frame.entries.length > 0 ? frame.first + frame.entries.length - 1 : 0);
    marks = highest(marks, frame);
    votes = Math.max(votes, frame.votes);
  }
  const base = baseSlot;
  for (let slot = base + 1; slot <= last; slot += 1) {
    if (!entries.has(slot)) missing.add(slot, slot);
  }
  if (missing.last > marks.chosen) return { kind: 'votes-lost' };
  const list = Array.from({ length: Math.max(0, last - base) }, (_, place) => entries.get(base + 1 + place));
  return {
    kind: 'recovered',
    state: { ...marks, votes, snapshot, entries: list, missing: missing.all, isRepaired: false },
  };
}

/** Spans of slots that were added in any order. */
class Spans {
  #spans: readonly Slots[] = [];

  add(first: number, last: number): void {
    if (last < first) return;
    const touches = (each: Slots): boolean => each.first <= last + 1 && first <= each.last + 1;
    const touching = this.#spans.filter(touches);
    const joined = {
      first: Math.min(first, ...touching.map((each) => each.first)),
      last: Math.max(last, ...touching.map((each) => each.last)),
    };
    const others = this.#spans.filter((each) => !touches(each));
    this.#spans = [...others, joined].toSorted((one, other) => one.first - other.first);
  }

  get all(): readonly Slots[] {
    return this.#spans;
  }

  get last(): number {
    return this.#spans.at(-1)?.last ?? 0;
  }
}

const highest = (a: Marks, b: Marks): Marks => ({
  promised: Math.max(a.promised, b.promised) as Ballot,
  chosen: Math.max(a.chosen, b.chosen),
  committed: Math.max(a.committed, b.committed),
  holdMs: Math.max(a.holdMs, b.holdMs),
  heard: b.heard,
});
