/**
 * Only members count (P1, L5); and how a replica learns of members.
 *
 * A replica that no configuration that counts seats may ask, and a leader feeds that replica and hears how far its log goes.
 * Anything else that such a stranger says changes nothing, ballots least of all: one promise of a stranger's ballot would depose the
 * leader, and one accept could drop votes. Nor does a ballot count that lies absurdly far above all others: no next ballot could
 * go above the highest number there is.
 *
 * Two replicas know fewer members than there are:
 *
 *  - A replica without a seat may know only members of long ago. Such a replica has no vote, and believes the leader that feeds it.
 *  - A member that was away while others were replaced may know a leader only as a stranger. That member asks the members it
 *    knows, one after the other, for the slots that are chosen, up to the configuration that seats the leader. Chosen slots are the same everywhere, so
 *    no ballot is involved. If no member that it knows is left, those count that were named when the replica started (`check-in.ts`).
 *
 * **Two histories.** Nothing that is chosen ever changes, as long as no majority loses votes. If disks lost them unnoticed (`shell/disk/place.ts`), a leader may
 * have another value in a slot than a replica that follows. The leader sends only what comes after, so the two would differ for good. So a replica asks each
 * new leader for the last slots that were known to be chosen when the ballot began, and ends if one differs. Disks forget a suffix, so the last
 * slots are enough; and a leader whose log was shorter than that when its term began has forgotten some. If the leader has only a snapshot of them, nothing can be compared.
 */

import { type Instant, instant, later } from '../../runtime/time.ts';
import { type Ballot, isAbsurdlyAbove } from './ballot.ts';
import type { Context } from './context.ts';
import { reachedIn } from './copy.ts';
import { holdFor } from './leases.ts';
import { type CheckIn, type Compare, type Fetched, fetchOf, type Message } from './messages.ts';
import { isSameOperation, type Operation } from './operation.ts';
import type { Saving } from './transfer.ts';

export type Standing = 'member' | 'guest' | 'ignored';

/** A replica without a seat may say these. */
const FROM_ANYBODY: ReadonlySet<Message['kind']> = new Set<Message['kind']>([
  ...([
    'join',
    'accepted',
    'gap',
    'installing',
    'forward',
    'remote-read',
    'query',
    'fetch',
    'compare',
    'check-in',
    'release',
  ] as const),
]);

/** Only leaders and candidates say these. */
const OF_LEADERS: ReadonlySet<Message['kind']> = new Set<Message['kind']>([
  ...(['accept', 'install', 'prepare', 'pre-vote'] as const),
]);

/** So many chosen slots are asked for at a time. */
const LEARNT_AT_ONCE = 64;

/** So many slots are compared with a new leader's, up to so many bytes of values: some may be empty batches, which are all the same. */
const COMPARED_AT_ONCE = 8;
const COMPARED_BYTES: number = 1024 * 1024;

/** While parts of a state arrive, its member is asked so often in a row without an answer. */
const SILENCES_MAX = 8;

/** A member that is asked for chosen slots, and how much of its state was here when it was asked. */
interface Teacher {
  readonly name: string;
  readonly partOf: number;
  readonly next: number;
  readonly silences: number;
}

export class Standings {
  readonly #context: Context;
  readonly #vouched: ReadonlySet<string>;
  /** Members are not asked for chosen slots before then. */
  #learnAt: Instant = instant(Number.NEGATIVE_INFINITY);
  #teacher: Teacher | undefined;
  /** The last slot to compare with the present leader's, since this replica has entered the ballot. */
  #comparing: { readonly upTo: number; readonly askAt: Instant } | undefined;

  /** @param vouched members that other members named when this replica started */
  constructor(context: Context, vouched: readonly string[] = []) {
    this.#context = context;
    this.#vouched = new Set(vouched);
  }

  /** @param highest the highest ballot that is known */
  of(from: string, message: Message, highest: Ballot): Standing {
    const context = this.#context;
    const ballot = message.kind === 'refused' ? message.promised : 'ballot' in message ? message.ballot : 0;
    if (isAbsurdlyAbove(ballot, highest)) return 'ignored';
    if (from === context.self || context.isSeated(from) || this.#vouched.has(from)) return 'member';
    return !context.isMember || FROM_ANYBODY.has(message.kind) ? 'guest' : 'ignored';
  }

  /** A leader or candidate was ignored: it may have been seated while this replica was away. */
  ignored(message: Message, saving: Saving, now: Instant): void {
    if (!OF_LEADERS.has(message.kind) || now < this.#learnAt) return;
    const { log, durations } = this.#context;
    this.#learnAt = later(now, durations.electionMs / 4);
    const teacher = this.#nextTeacher(saving);
    if (teacher === undefined) return;
    const has = teacher.partOf === 0 ? {} : { partOf: teacher.partOf, next: teacher.next };
    this.#context.send(teacher.name, { ...fetchOf(log.chosen + 1, log.chosen + LEARNT_AT_ONCE), ...has });
  }

  /** The same member while parts of its state arrive, or else the next one: pieces of one member at a time. */
  #nextTeacher(saving: Saving): Teacher | undefined {
    const { partOf, next } = saving.taught;
    const last = this.#teacher;
    const hasTaught = partOf > 0 && (last?.partOf !== partOf || last.next !== next);
    const silences = hasTaught ? 0 : (last?.silences ?? 0) + 1;
    const peers = [...this.#context.peers];
    const isKept = last !== undefined && partOf > 0 && silences < SILENCES_MAX && peers.includes(last.name);
    const name = isKept ? last.name : peers[(peers.indexOf(last?.name ?? '') + 1) % peers.length];
    const goesOn = isKept ? { partOf, next, silences } : { partOf: 0, next: 0, silences: 0 };
    this.#teacher = name === undefined ? undefined : { name, ...goesOn };
    return this.#teacher;
  }

  /** A leader was heard; `isNew`: in a new ballot. Asks until there is an answer: a new leader may not yet know how far its log is chosen. */
  heard(from: string, isNew: boolean, now: Instant): void {
    const { log, durations, self, acceptor } = this.#context;
    const { ballot, merged } = acceptor;
    const last = log.find(log.chosen);
    // A slot that an earlier ballot chose is in the log with which the leader's term began.
    const isForgotten = last !== undefined && last.ballot > 0 && last.ballot < ballot && log.chosen > merged;
    if (isNew && isForgotten) this.#context.differs(log.chosen, from);
    if (from === self) this.#comparing = undefined;
    else if (isNew) this.#comparing = { upTo: log.chosen, askAt: now };
    const comparing = this.#comparing;
    if (comparing === undefined || now < comparing.askAt) return;
    const { upTo } = comparing;
    this.#comparing = { ...comparing, askAt: later(now, durations.electionMs) };
    if (upTo <= log.base) this.#comparing = undefined;
    else {
      const first = Math.max(log.base + 1, upTo - COMPARED_AT_ONCE + 1);
      this.#context.send(from, { kind: 'compare', first, last: upTo });
    }
  }

  /** A replica compares slots that are chosen there. */
  compare(from: string, { first, last }: Compare): void {
    const { log } = this.#context;
    if (log.chosen < last || last <= log.base) return;
    let begins = last;
    let bytes = 0;
    const operations: Operation[] = [];
    for (let slot = last; slot >= Math.max(first, log.base + 1) && bytes <= COMPARED_BYTES; slot -= 1) {
      const { operation } = log.at(slot);
      operations.unshift(operation);
      bytes += operation.kind === 'batch' ? operation.bytes : 0;
      begins = slot;
    }
    this.#context.send(from, { kind: 'fetched', first: begins, operations, part: undefined });
  }

  /** A replica that has started asks how many votes were heard of it. */
  checkIn(from: string, { nonce }: CheckIn): void {
    const { log, heard, acceptor, durations, holdMs } = this.#context;
    const { promised } = acceptor;
    const { newestConfigurationSlot: slot, newestConfiguration: configuration } = log;
    this.#context.send(from, {
      ...{ kind: 'checked-in', nonce, votes: heard.get(from) ?? 0, slot, configuration, promised },
      reached: reachedIn(promised, log.chosen, log.last, (each) => log.find(each)),
      holdMs: Math.max(holdMs, holdFor(durations.leaseMs)),
    });
  }

  /** Slots that a member knows to be chosen. */
  learn(from: string, { first, operations, part }: Fetched, saving: Saving): void {
    const context = this.#context;
    const { log } = context;
    if (part !== undefined && from === this.#teacher?.name) saving.receive(from, 0, part); // Later slots are asked for when the state is whole.
    operations.forEach((operation, place) => {
      const slot = first + place;
      const known = slot <= log.chosen ? log.find(slot) : undefined;
      if (known !== undefined && !isSameOperation(known.operation, operation)) context.differs(slot, from);
      if (slot === this.#comparing?.upTo) this.#comparing = undefined;
      if (slot !== log.chosen + 1) return;
      if (log.find(slot)?.operation !== operation) {
        log.set(slot, { ballot: 0, operation });
        context.journal.touch(slot);
      }
      log.choose(slot);
    });
    context.acceptor.learnt();
  }
}
