/**
 * What is on its way to the disk, and what waits until it is there.
 *
 * Nothing that rests on memory alone is ever said: the promised ballot, every accepted entry and the longest hold are durable
 * before anybody hears what follows from them. So changes collect in a frame; one frame at a time is written and synced;
 * what arrives meanwhile is the next frame. That is the cell commit, and it also paces the leader's batches.
 *
 *     turn        change, change   change          change
 *     frames      [ 1 ──── sync ────][ 2 ──── sync ───]
 *     then                           └ answers of 1
 *
 * Every frame names the promised ballot, the chosen and committed marks and the last slot of the log before it (D1): a later
 * valid frame then says what a damaged one can have held at most, which `recovery.ts` needs.
 *
 * Frames that hold votes are counted, from the first life on. A vote leaves together with the count of its frame, and every frame
 * repeats the highest counts that were heard of the other members. So the others know what a directory must have (`check-in.ts`).
 */

import type { Ballot } from './ballot.ts';
import type { Entry } from './log.ts';
import type { Message } from './messages.ts';

export interface Frame {
  readonly promised: Ballot;
  readonly chosen: number;
  readonly committed: number;
  /** The last slot of the log before this frame. */
  readonly lastBefore: number;
  /** The longest hold that was ever promised. */
  readonly holdMs: number;
  /** How many frames with votes there are, this one included. */
  readonly votes: number;
  /** The highest such count that was heard of each other member, by storage id. */
  readonly heard: ReadonlyMap<string, number>;
  /** The log ends here before the entries of this frame are written. */
  readonly truncateTo: number;
  /** From slot `first` on; they take the places of what was there. */
  readonly first: number;
  readonly entries: readonly Entry[];
  /**
   * The frame has every entry after this slot: with the snapshot as of this slot, or none for slot 0, what was written before the
   * frame is not needed (`transfer.ts`).
   */
  readonly base: number | undefined;
}

/** What is durable, of all that a frame says. */
export interface Marks {
  readonly promised: Ballot;
  readonly chosen: number;
  readonly committed: number;
  readonly holdMs: number;
  readonly heard: ReadonlyMap<string, number>;
}

/** A message that may leave only after what it rests on is durable; dropped if it no longer `holds` then. */
export interface Deferred {
  readonly to: string;
  readonly message: Message;
  readonly holds: () => boolean;
}

interface Flight {
  readonly ballot: Ballot;
  readonly upTo: number;
  readonly holdMs: number;
  readonly committed: number;
  readonly votes: number;
  readonly deferred: readonly Deferred[];
}

export class Journal {
  /** The slots that differ from what was last handed to the disk: from this one on. */
  #dirtyFrom: number = Number.POSITIVE_INFINITY;
  #truncateTo: number = Number.POSITIVE_INFINITY;
  #lastWritten: number;
  #base: number | undefined;
  #marks: Marks;
  #deferred: Deferred[] = [];
  #flight: Flight | undefined;
  #durableHoldMs: number;
  #durableCommitted: number;
  #votes: number;
  #durableVotes: number;
  #isUnsealed = false;

  constructor(last: number, marks: Marks, votes: number) {
    this.#votes = votes;
    this.#durableVotes = votes;
    this.#lastWritten = last;
    this.#marks = marks;
    this.#durableHoldMs = marks.holdMs;
    this.#durableCommitted = marks.committed;
  }

  /** The longest hold that the next life will know of. */
  get durableHoldMs(): number {
    return this.#durableHoldMs;
  }

  get isBusy(): boolean {
    return this.#flight !== undefined;
  }

  /** Up to here the next life will know what is committed. */
  get durableCommitted(): number {
    return this.#durableCommitted;
  }

  /** How many frames with votes are durable. */
  get durableVotes(): number {
    return this.#durableVotes;
  }

  /** The slots from this one on were written or replaced. */
  touch(slot: number): void {
    this.#dirtyFrom = Math.min(this.#dirtyFrom, slot);
  }

  truncated(last: number): void {
    this.#truncateTo = Math.min(this.#truncateTo, last);
    this.touch(last + 1);
  }

  /**
   * Writes all entries after a slot anew, in a frame that needs nothing but a snapshot as of that slot; and with them those before that were
   * never written. A slot is committed by the votes of others while the own disk is busy with an earlier frame, and the snapshot may never be finished.
   */
  rebase(slot: number): void {
    this.#base = slot;
    this.touch(slot + 1);
  }

  /** Sends this once everything that has changed until now is durable. */
  defer(deferred: Deferred): void {
    this.#deferred.push(deferred);
  }

  /** Whether everything that anything may rest on has been synced. */
  isSettled(marks: Marks): boolean {
    return this.#flight === undefined && !this.#mustWrite(marks);
  }

  /**
   * Whether a frame with the marks alone should follow after a while: the disk has older marks than memory, or its last frame holds
   * something that somebody may rest on and has no valid frame behind it.
   */
  wantsSeal({ chosen, committed, heard }: Marks): boolean {
    const { chosen: oldChosen, committed: oldCommitted, heard: oldHeard } = this.#marks;
    return this.#isUnsealed || chosen !== oldChosen || committed !== oldCommitted || heard !== oldHeard;
  }

  /**
   * The next frame, if the disk is free and there is something to write. `accepted` is what a sync of it makes durable: the ballot
   * and how far it is accepted. The log has the entries after `base`; those before are in a snapshot that is durable.
   */
  next(
    marks: Marks,
    accepted: { readonly ballot: Ballot; readonly upTo: number },
    log: { readonly base: number; readonly from: (first: number) => readonly Entry[] },
    isForced: boolean,
  ): Frame | undefined {
    if (this.#flight !== undefined || !(isForced || this.#mustWrite(marks))) return undefined;
    const isDirty = this.#dirtyFrom !== Number.POSITIVE_INFINITY;
    const first = isDirty ? Math.max(this.#dirtyFrom, log.base + 1) : this.#lastWritten + 1;
    const written = isDirty ? log.from(first) : [];
    const hasVotes = isDirty || marks.promised !== this.#marks.promised;
    if (hasVotes) this.#votes += 1;
    const votes = this.#votes;
    const frame: Frame = {
      ...marks,
      votes,
      lastBefore: this.#lastWritten,
      truncateTo: this.#truncateTo,
      first,
      entries: written,
      base: this.#base,
    };
    this.#flight = {
      ...accepted,
      holdMs: marks.holdMs,
      committed: marks.committed,
      votes,
      deferred: this.#deferred,
    };
    const kept = Math.max(Math.min(this.#lastWritten, this.#truncateTo), this.#base ?? 0);
    this.#lastWritten = Math.max(kept, written.length > 0 ? first + written.length - 1 : 0);
    this.#isUnsealed = hasVotes;
    this.#marks = marks;
    this.#deferred = [];
    this.#dirtyFrom = Number.POSITIVE_INFINITY;
    this.#truncateTo = Number.POSITIVE_INFINITY;
    this.#base = undefined;
    return frame;
  }

  /** The frame is durable. */
  synced(): Flight | undefined {
    const flight = this.#flight;
    this.#flight = undefined;
    if (flight !== undefined) {
      this.#durableHoldMs = flight.holdMs;
      this.#durableCommitted = flight.committed;
      this.#durableVotes = flight.votes;
    }
    return flight;
  }

  #mustWrite({ promised, holdMs }: Marks): boolean {
    const isDirty = this.#dirtyFrom !== Number.POSITIVE_INFINITY || this.#base !== undefined;
    const isBound = promised !== this.#marks.promised || holdMs !== this.#marks.holdMs;
    return isDirty || isBound || this.#deferred.length > 0;
  }
}
