/**
 * A snapshot on its way to the disk of this replica: the own state, or that of a leader from which this replica lags (D3).
 *
 * Both travel in parts. One part at a time is written, beside the frames of the journal, and the next part follows when that one
 * is on the disk; so the replica goes on serving, and memory and disk hold one part more at most.
 *
 *     leader      part 1 ──►              part 2 ──►              last part ──►
 *     receiver         save … saved ◄── next      save … saved ◄── next          save … durable: installs, then acknowledges
 *
 * **The order of writes** makes the switch atomic. A file with a snapshot gets its name when it is whole and durable. A frame of the
 * journal with a `base` has every entry after that slot. Only when both are durable, what was written before the frame is deleted. A
 * restart uses the newest frame with a base whose snapshot is there:
 *
 *     own state     frame with base S ── parts ── name: switched ── delete        before the name: the old snapshot and the whole journal
 *     a leader's    parts ── name ── frame with base S: switched ── delete        before the frame: the same; the file means nothing
 *
 * A received snapshot takes effect in memory only after its file has its name. Entries after the snapshot would otherwise be
 * written and acknowledged behind a gap that a crash leaves open. The frame keeps all entries after the slot: they are votes.
 *
 * Parts of two senders or ballots are not mixed: two replicas have the same values as of a slot, but in an order of their own.
 *
 * **A sender that begins again.** A leader forgets a snapshot whose receiver it has not heard for a while, and then begins with the first part, often of the same
 * slot. So a first part is always taken, and what had arrived is dropped: the sender can go on from there only. A receiver to which a part comes that lies further on has
 * dropped too much, and asks for the first part.
 */

import type { Application } from './application.ts';
import type { Configuration } from './configuration.ts';
import type { Context } from './context.ts';
import { type Fetch, fetchOf, type Install } from './messages.ts';
import { itemsOf, type SnapshotPart, SnapshotView } from './snapshot.ts';
import { StateMachine } from './state-machine.ts';

/** A snapshot that is being received: the values and sessions so far. */
interface Incoming {
  readonly from: string;
  readonly ballot: number;
  readonly slot: number;
  readonly machine: StateMachine;
  count: number;
}

/** What the part that is being written belongs to. */
type Writing =
  | { readonly what: 'own'; readonly view: SnapshotView; readonly part: SnapshotPart }
  | { readonly what: 'received'; readonly incoming: Incoming; readonly part: SnapshotPart }
  /** Given up while a part was under way. */
  | { readonly what: 'nothing' };

export class Saving {
  readonly #context: Context;
  #writing: Writing | undefined;
  #incoming: Incoming | undefined;

  constructor(context: Context) {
    this.#context = context;
  }

  get isIdle(): boolean {
    return this.#writing === undefined && this.#incoming === undefined;
  }

  /** How much is here of the state that a member sends, which is no leader that this replica follows. */
  get taught(): Pick<Fetch, 'partOf' | 'next'> {
    const incoming = this.#incoming;
    return incoming?.ballot === 0 ? { partOf: incoming.slot, next: incoming.count } : { partOf: 0, next: 0 };
  }

  /** Begins to write the own state as of a committed slot. */
  begin(slot: number, configuration: Configuration): void {
    const { machine, journal, limits } = this.#context;
    const view = new SnapshotView(machine, slot, configuration);
    journal.rebase(slot);
    this.#save({ what: 'own', view, part: view.next(limits.bytesPerPart) });
  }

  /** Takes a part that a leader or a member sent. Asks for the next one when this one is on the disk. */
  receive(from: string, ballot: number, part: SnapshotPart): void {
    if (part.slot <= this.#context.log.chosen) return;
    const known = this.#incoming;
    const isOther = known?.from !== from || known.ballot !== ballot || known.slot !== part.slot;
    if (isOther) this.#giveUp();
    else if (this.#writing !== undefined) return; // The sender repeats the part.
    if (isOther || part.first === 0 || part.first > known.count) {
      const { slot } = part;
      const machine = new StateMachine(slot, this.#context.limits);
      this.#incoming = { from, ballot, slot, machine, count: 0 };
    }
    const incoming = this.#incoming as Incoming;
    if (this.#writing !== undefined) return;
    if (part.first !== incoming.count) {
      if (ballot > 0) this.#ask(incoming); // A member that taught the part is asked again when it is time (`standing.ts`).
    } else {
      incoming.machine.load(part.values, part.sessions);
      incoming.count += itemsOf(part);
      this.#save({ what: 'received', incoming, part });
    }
  }

  /** The part is on the disk; after the last one the file has its name. */
  saved(application: Application): void {
    const writing = this.#writing;
    this.#writing = undefined;
    if (writing === undefined) return;
    if (writing.what === 'own') {
      const { view, part } = writing;
      if (!part.isLast) {
        this.#save({ what: 'own', view, part: view.next(this.#context.limits.bytesPerPart) });
        return;
      }
      view.release();
      application.saved(view.slot);
    } else if (writing.what === 'received' && writing.incoming === this.#incoming) {
      const { incoming, part } = writing;
      if (!part.isLast) this.#ask(incoming);
      else {
        this.#incoming = undefined;
        application.install(part.slot, part.configuration, incoming.machine);
      }
    } else if (this.#incoming !== undefined) this.#ask(this.#incoming);
  }

  /** There was no room. The own state is written another time; a leader sends its snapshot from the beginning. */
  failed(): void {
    this.#giveUp();
    this.#writing = undefined;
    this.#incoming = undefined;
  }

  #giveUp(): void {
    if (this.#writing?.what === 'own') this.#writing.view.release();
    if (this.#writing !== undefined) this.#writing = { what: 'nothing' };
  }

  #ask({ from, ballot, slot, count }: Incoming): void {
    const { chosen } = this.#context.log;
    if (ballot > 0) this.#context.send(from, { kind: 'installing', ballot, slot, next: count });
    else this.#context.send(from, { ...fetchOf(chosen + 1, chosen + 1), partOf: slot, next: count });
  }

  #save(writing: Exclude<Writing, { readonly what: 'nothing' }>): void {
    this.#writing = writing;
    this.#context.save(writing.part);
  }
}

/** The parts of one snapshot for one peer. The last one is kept until the peer says that it has arrived. */
export class Outgoing {
  readonly #view: SnapshotView;
  readonly #bytesPerPart: number;
  part: SnapshotPart;

  constructor({ machine, log, limits }: Context, bytesPerPart: number = limits.bytesPerPart) {
    this.#view = new SnapshotView(machine, log.committed, log.configurationAt(log.committed));
    this.#bytesPerPart = bytesPerPart;
    this.part = this.#view.next(this.#bytesPerPart);
  }

  get slot(): number {
    return this.#view.slot;
  }

  /** The peer asks for the value or session at this place. True if that is the beginning of the next part, which is then at hand. */
  advance(next: number): boolean {
    if (this.part.isLast || next !== this.part.first + itemsOf(this.part)) return false;
    this.part = this.#view.next(this.#bytesPerPart);
    return true;
  }

  release(): void {
    this.#view.release();
  }
}

export const installOf = (ballot: number, merged: number, part: SnapshotPart): Install => ({
  ...{ kind: 'install', ballot, merged },
  ...part,
});
