/**
 * One attempt on one resource: algorithm 4 of the paper, from its READ to its WRITE.
 *
 *     reading ──a majority promised──► decide ──► writing ──a majority accepted──► done
 *        └── so many refused, or took so long, that it cannot succeed ──┴──► failed
 *
 * It reads under a ballot of its own, takes what was written under the highest ballot among a majority, and
 * writes under the same ballot. Which acceptor has answered is remembered by name, so that an answer that comes
 * twice counts once; a refusal does not count towards a majority, and a promise that comes after the reading is
 * over counts for nothing.
 *
 * A *query* is an attempt that ends when a majority has said what is written there. Nobody promises it anything, so
 * it is never outbid and outbids nobody. If all of a majority have the very same, that was written by a majority, and
 * nothing later was when the query began, or one of them would have it: so it says what a read would.
 *
 * The paper gives up at the first refusal. We go on as long as a majority can still say yes, which is all that
 * its lemmas use.
 */

import { type Ballot, compareBallots } from './ballot.ts';
import type { Lease } from './lease.ts';
import type { Answer, Found, Promised, Question, RefusalReason, Refused } from './messages.ts';
import type { Quorums } from './view.ts';

/** What it is made for. */
export type Purpose = 'take' | 'renew' | 'free' | 'ask';

/** Why somebody did not say yes, or not so that it counts. */
export type Reluctance =
  | RefusalReason
  | 'silent'
  /** What it said cannot be true (`credible.ts`). */
  | 'not-believed';

type Progress = 'waiting' | 'has-read' | 'has-written' | 'failed';

type Refusal = Pick<Refused, 'of' | 'detail'> & { readonly why: Reluctance };

export interface Asking {
  readonly purpose: Purpose;
  readonly quorums: Quorums;
  /** Of ballots. */
  readonly intervalMs: number;
  /** Who is asked at first. */
  readonly audience: readonly string[];
  readonly isQuery: boolean;
}

export class Attempt {
  readonly ballot: Ballot;
  readonly resource: string;
  readonly purpose: Purpose;
  readonly #quorums: Quorums;
  readonly #intervalMs: number;
  /** Whether it only asks what is written, and never writes. */
  readonly isQuery: boolean;
  #audience: readonly string[];
  #phase: 'reading' | 'writing' = 'reading';
  #yes = 0;
  #no = 0;
  #refusals: Map<string, Reluctance> | undefined;
  /** What was written under the highest ballot, of those who have answered. */
  #found: Lease | undefined;
  #foundBallot: Ballot | undefined;
  #isFoundByAll = true;
  /** The highest round that somebody else is known to have in our interval. */
  roundSeen = 0;
  /** What we write. */
  proposal: Lease | undefined;
  /** Since when it asks what it asks at present. */
  sinceMs: number;

  constructor(resource: string, ballot: Ballot, asking: Asking) {
    const { purpose, quorums, intervalMs, audience, isQuery } = asking;
    this.resource = resource;
    this.purpose = purpose;
    this.ballot = ballot;
    this.sinceMs = ballot.askedMs;
    this.#quorums = quorums;
    this.#intervalMs = intervalMs;
    this.#audience = audience;
    this.isQuery = isQuery;
  }

  /** Who is asked. */
  get audience(): readonly string[] {
    return this.#audience;
  }

  get asksEverybody(): boolean {
    return this.#audience.length === this.#quorums.everybody.length;
  }

  /** Asks the others, too, and says who they are. */
  askTheRest(): readonly string[] {
    const asked = this.#audience;
    this.#audience = this.#quorums.everybody;
    return this.#audience.filter((member) => !asked.includes(member));
  }

  /** What is asked at present. */
  get question(): Question {
    const { resource, proposal: lease } = this;
    const { attempt, askedMs, round } = this.ballot;
    if (this.isQuery) return { kind: 'query', attempt, resource };
    if (lease === undefined) return { kind: 'read', attempt, resource, askedMs, round };
    return { kind: 'write', attempt, resource, askedMs, round, lease };
  }

  /** Who was asked and has not said yes. */
  get unwilling(): readonly string[] {
    return this.#audience.filter((member) => !this.#quorums.includes(this.#yes, member));
  }

  get isWriting(): boolean {
    return this.#phase === 'writing';
  }

  get found(): Lease | undefined {
    return this.#found;
  }

  /** Whether a majority has the very same, so that it need not be written again to be certain. */
  get isCertain(): boolean {
    return this.#isFoundByAll;
  }

  /**
   * Whether somebody else was only faster: a majority has answered, or so many were outbid that there was no use in
   * waiting for the others; of an even number, those are fewer.
   */
  get isOutbid(): boolean {
    let outbid = 0;
    for (const [member, why] of this.#refusals ?? []) {
      if (why === 'outbid') outbid = this.#quorums.with(outbid, member);
    }
    return this.#quorums.suffices(this.#yes | outbid) || !this.#quorums.canSuffice(outbid);
  }

  /** Who did not say yes, and why. */
  get reluctant(): ReadonlyMap<string, Reluctance> {
    const reluctant = new Map<string, Reluctance>();
    for (const member of this.#quorums.everybody) {
      if (!this.#quorums.includes(this.#yes, member)) {
        reluctant.set(member, this.#refusals?.get(member) ?? 'silent');
      }
    }
    return reluctant;
  }

  write(proposal: Lease, nowMs: number): void {
    this.#phase = 'writing';
    this.sinceMs = nowMs;
    this.#yes = 0;
    this.#no = 0;
    this.#refusals = undefined;
    this.proposal = proposal;
  }

  answer(from: string, answer: Answer): Progress {
    if (answer.kind === 'refused') return this.#refuse(from, answer);
    if ((answer.kind === 'accepted') !== this.isWriting) return 'waiting';
    if ((answer.kind === 'found') !== this.isQuery) return 'waiting';
    const yes = this.#quorums.with(this.#yes, from);
    if (yes === this.#yes) return 'waiting';
    if (answer.kind === 'promised' || answer.kind === 'found') this.#note(answer);
    this.#yes = yes;
    if (!this.#quorums.suffices(yes)) return 'waiting';
    return this.isWriting ? 'has-written' : 'has-read';
  }

  /** Somebody has said what it has, and that cannot be: as if it had refused to be read. */
  disbelieve(from: string): Progress {
    return this.#refuse(from, { of: 'read', why: 'not-believed', detail: 0 });
  }

  #refuse(from: string, { of, why, detail }: Refusal): Progress {
    if ((of === 'write') !== this.isWriting || !this.#quorums.has(from)) return 'waiting';
    if (this.#quorums.includes(this.#yes, from)) return 'waiting'; // It has said yes; this is to a copy of the question.
    if (why === 'outbid') this.roundSeen = Math.max(this.roundSeen, detail);
    this.#no = this.#quorums.with(this.#no, from);
    this.#refusals ??= new Map();
    this.#refusals.set(from, why);
    return this.#quorums.canSuffice(this.#no) ? 'waiting' : 'failed';
  }

  #note({ written, lease }: Promised | Found): void {
    const first = this.#yes === 0;
    const order = this.#compare(written, this.#foundBallot);
    if (order !== 0 && !first) this.#isFoundByAll = false;
    if (order > 0) {
      this.#foundBallot = written;
      this.#found = lease;
    }
  }

  #compare(a: Ballot | undefined, b: Ballot | undefined): number {
    if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
    return compareBallots(a, b, this.#intervalMs);
  }
}
