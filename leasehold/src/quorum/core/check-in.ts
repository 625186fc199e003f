/**
 * A replica that has started, until the other members confirm that its directory is complete.
 *
 * A vote must never be forgotten. A sync keeps the votes over a crash, but not over an operator: a directory that is restored from
 * a backup, or a copy that runs elsewhere, has every vote up to some instant and none after that. Nothing inside the directory can
 * show this, so the others remember. Frames with votes are counted (`journal.ts`); a vote carries the count of the frame; every
 * member keeps the highest count that it heard of each other member, in its own frames. After a start a replica asks for these
 * counts, and neither votes nor promises nor reads before the answers are there:
 *
 *     original    votes 1 … 40 ──copy── 41 42 43 ✝
 *     members            heard 40        heard 43
 *     copy                                  starts with 40: "what is the last you heard of me?" ── 43: refused, for good
 *
 * **How many answers?** If every other member answers, no vote was heard that the answers do not know of: a vote counts only
 * where it is heard. With fewer answers a forgotten vote may be known only to a member that is down. But to wait for all of them
 * after every restart would let one dead member stop a cell of three after a power cut. So the directory decides:
 *
 *  - `isCopy`: the files are not those that this replica wrote (`shell/disk/place.ts`). *Every* other member must answer. A member answers
 *    only if no other process of this directory is connected there, and the present life is durably noted (`peer-links.ts`), so
 *    an original that still runs is not heard afterwards. When all have answered, all are asked once more: what they say then,
 *    `takenOver`, includes everything that followed from a word of the original (`copy.ts`).
 *    A founder is asked about in the same way, until it is confirmed for the first time: it may be a backup from the time when it waited for
 *    the others, while the original founded the cell and voted. Founding needs all of them anyway.
 *  - `isNew`, and no founder: this process drew the storage id. Nobody can have heard a vote of it, and nobody is asked.
 *  - otherwise the directory is in place, which a restored backup is not unless the whole file system went back. An answer
 *    of every other member, or after an election time of a majority, counting this replica.
 *
 * **When peers crash.** A count that was heard is in the next frame, and a frame follows within 50 ms (`MARKS_AFTER_MS`). So a count can
 * be lost only if all members that heard the vote lose power within that time: a copy older than that is found out. A younger one is
 * confirmed, and counts as incomplete until it has everything that it may have forgotten (`copy.ts`).
 *
 * Members are those of the newest configuration in the own log, or of a later one that such a member names; answers of others
 * count for nothing. Only if nobody answers for long, all of them may have been replaced while this replica was away: then
 * the contacts that the operator named are asked who the members are. A replica that stands here answers the same question of
 * others from the disk, so a whole cell can start at once, or from copies of all directories. Nothing is written
 * meanwhile: another frame would make a copy look newer than the copy is.
 */

import { type Instant, later } from '../../runtime/time.ts';
import { type Configuration, type Electorate, isQuorum, isSeated } from './configuration.ts';
import type { Effect } from './context.ts';
import { reachedIn, type TakenOver, takenOver } from './copy.ts';
import { holdFor } from './leases.ts';
import type { CheckedIn, Message } from './messages.ts';
import type { Recovered } from './recovery.ts';

export interface CheckInOptions {
  readonly self: string;
  readonly recovered: Recovered;
  /** The configuration of slot 0. */
  readonly initial: Configuration;
  /** Storage ids to ask while no member is known; read again and again. */
  readonly contacts: readonly string[];
  /** Whether nothing says that the files are those that this replica wrote: they were copied or restored, or nobody has confirmed them yet. */
  readonly isCopy: boolean;
  /** Whether this process began the journal: for a founder, or for a storage id that this process drew. */
  readonly isNew: boolean;
  readonly electionMs: number;
  /** The own leases, for others that may have promised them. */
  readonly leaseMs: number;
  /** Drawn for this start. */
  readonly nonce: number;
}

export type CheckInVerdict =
  | { readonly is: 'open' }
  /** For a copy with a seat, with what the copy takes over. */
  | { readonly is: 'confirmed'; readonly takenOver: TakenOver | undefined }
  /** The member has heard of votes that this directory does not have. */
  | { readonly is: 'refused'; readonly by: string };

/** After so many election times without an answer, others than the known members are asked. */
const ALONE_AFTER = 4;

const OPEN: CheckInVerdict = { is: 'open' };
const CONFIRMED: CheckInVerdict = { is: 'confirmed', takenOver: undefined };

export class CheckIn {
  readonly #options: CheckInOptions;
  readonly #startedAt: Instant;
  readonly #answers = new Map<string, CheckedIn>();
  /** Those that answered a copy in the round before this one. */
  #answeredBefore: ReadonlySet<string> = new Set();
  #rounds = 0;
  #newest: PlacedConfiguration;
  #askAt: Instant;
  #verdict: CheckInVerdict = OPEN;
  #isAlone = false;

  constructor(options: CheckInOptions, now: Instant) {
    this.#options = options;
    this.#newest = newestConfiguration(options.recovered, options.initial);
    this.#startedAt = now;
    this.#askAt = now;
    this.#judge(now);
  }

  get verdict(): CheckInVerdict {
    return this.#verdict;
  }

  /** The members that have not answered. */
  get awaited(): string[] {
    return this.#asked.filter((storage) => !this.#answers.has(storage));
  }

  get wakeAt(): Instant | undefined {
    return this.#verdict.is === 'open' ? this.#askAt : undefined;
  }

  wake(now: Instant): Effect[] {
    this.#judge(now);
    if (this.#verdict.is !== 'open' || now < this.#askAt) return [];
    const { electionMs } = this.#options;
    const nonce = this.#nonce;
    this.#isAlone = this.#answers.size === 0 && later(this.#startedAt, ALONE_AFTER * electionMs) <= now;
    this.#askAt = later(now, electionMs / 4);
    return this.awaited.map((to) => ({ do: 'send', to, message: { kind: 'check-in', nonce } }));
  }

  receive(from: string, message: Message, now: Instant): Effect[] {
    const { self, recovered, initial, leaseMs } = this.#options;
    if (message.kind === 'check-in')
      return [{ do: 'send', to: from, message: answerOf(recovered, initial, leaseMs, from, message.nonce) }];
    if (message.kind !== 'checked-in' || message.nonce !== this.#nonce || !this.#asked.includes(from))
      return [];
    this.#answers.set(from, message);
    const isUnknown = this.#newest.configuration.members.length === 0;
    if (message.slot > this.#newest.slot || isUnknown) this.#newest = message;
    const isMember = this.members.includes(from);
    if (message.votes > recovered.votes && isMember && from !== self)
      this.#verdict = { is: 'refused', by: from };
    return this.wake(now);
  }

  suspended(): Effect[] {
    return [];
  }

  /** The members of the newest configuration that was named. */
  get members(): readonly string[] {
    return this.electorate.members.map(({ storage }) => storage);
  }

  get electorate(): Electorate {
    return this.#newest.configuration;
  }

  /** An answer to one round is none to the next. */
  get #nonce(): number {
    return this.#options.nonce + this.#rounds;
  }

  get #asked(): readonly string[] {
    const { self, contacts } = this.#options;
    const { members } = this;
    const known = members.length === 0 || this.#isAlone ? [...new Set([...members, ...contacts])] : members;
    return known.filter((storage) => storage !== self);
  }

  #judge(now: Instant): void {
    const { configuration } = this.#newest;
    const { self, isCopy, isNew, electionMs, initial } = this.#options;
    if (isNew && !isSeated(initial, self)) this.#verdict = CONFIRMED;
    if (this.#verdict.is !== 'open' || configuration.members.length === 0) return;
    const hasPassed = later(this.#startedAt, electionMs) <= now;
    const hasAnswered = (storage: string): boolean => storage === self || this.#answers.has(storage);
    const isEnough = !isCopy && hasPassed && isQuorum(configuration, hasAnswered);
    // A replica without a seat votes only after a leader has fed it and a configuration seats it; its members then remember it.
    const isUnseated = !isSeated(configuration, self) && isQuorum(configuration, hasAnswered);
    const hasEverybody = this.members.every(hasAnswered);
    if (isEnough || isUnseated || (hasEverybody && !isCopy)) this.#verdict = CONFIRMED;
    else if (hasEverybody) this.#judgeCopy(now);
  }

  /** All members have answered a copy that has a seat. */
  #judgeCopy(now: Instant): void {
    const { self } = this.#options;
    const answers = this.members.flatMap((storage) => this.#answers.get(storage) ?? []);
    if (this.members.every((storage) => storage === self || this.#answeredBefore.has(storage))) {
      this.#verdict = { is: 'confirmed', takenOver: takenOver(answers) };
      return;
    }
    this.#answeredBefore = new Set(this.#answers.keys());
    this.#answers.clear();
    this.#rounds += 1;
    this.#askAt = now;
  }
}

interface PlacedConfiguration {
  readonly slot: number;
  readonly configuration: Electorate;
}

/** What a replica that does not run yet has heard of another one, as far as its disk says. */
export function answerOf(
  recovered: Recovered,
  initial: Configuration,
  leaseMs: number,
  from: string,
  nonce: number,
): CheckedIn {
  const { promised, chosen, snapshot, entries } = recovered;
  const base = snapshot?.slot ?? 0;
  const reached = reachedIn(promised, chosen, base + entries.length, (slot) => entries[slot - base - 1]);
  const votes = recovered.heard.get(from) ?? 0;
  const holdMs = Math.max(recovered.holdMs, holdFor(leaseMs));
  return {
    ...{ kind: 'checked-in', nonce, votes, promised, reached, holdMs },
    ...newestConfiguration(recovered, initial),
  };
}

/** The newest configuration on the disk. */
export function newestConfiguration(
  { snapshot, entries }: Recovered,
  initial: Configuration,
): PlacedConfiguration {
  const base = snapshot?.slot ?? 0;
  for (let place = entries.length - 1; place >= 0; place -= 1) {
    const operation = entries[place]?.operation;
    if (operation?.kind === 'configuration')
      return { slot: base + 1 + place, configuration: operation.configuration };
  }
  return { slot: base, configuration: snapshot?.configuration ?? initial };
}
