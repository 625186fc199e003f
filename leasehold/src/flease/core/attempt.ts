/**
 * One attempt on one resource: algorithm 4 of the paper, from READ to WRITE.
 *
 *     reading ──a majority promised──► decide ──► writing ──a majority accepted──► done
 *        └── so many refused, or took so long, that it cannot succeed ──┴──► failed
 *
 * An attempt reads under its own ballot, takes the lease written under the highest ballot among a majority, and
 * writes under the same ballot. Answers are recorded by acceptor, so that a duplicate counts once. A refusal does not
 * count towards a majority, and a promise that arrives after the read phase counts for nothing.
 *
 * A *query* is an attempt that ends when a majority has reported the written lease. Acceptors promise nothing to a
 * query, so a query is never outbid and outbids nobody. If all members of a majority report the same lease, a
 * majority has written that lease, and no later lease was written by a majority before the query began, because one
 * of them would report it. So a unanimous query says as much as a read.
 *
 * The paper gives up at the first refusal. This code goes on as long as a majority can still say yes, which is all
 * that the paper's lemmas use.
 */

import { type Ballot, compareBallots } from './ballot.ts';
import type { Lease } from './lease.ts';
import type { Answer, Found, Promised, Question, RefusalReason, Refused } from './messages.ts';
import type { Quorums } from './view.ts';

/** The aim of an attempt. */
export type Operation = 'take' | 'renew' | 'free' | 'ask';

/** Why a member did not say yes, or why its answer does not count. */
export type RefusalCause =
  | RefusalReason
  | 'silent'
  /** The answer cannot be true (`plausible.ts`). */
  | 'not-believed';

type Progress = 'waiting' | 'has-read' | 'has-written' | 'failed';

type Refusal = Pick<Refused, 'of' | 'detail'> & { readonly why: RefusalCause };

export interface Asking {
  readonly operation: Operation;
  readonly quorums: Quorums;
  /** Of ballots. */
  readonly intervalMs: number;
  /** The members that are asked first. */
  readonly recipients: readonly string[];
  readonly isQuery: boolean;
}

export class Attempt {
  readonly ballot: Ballot;
  readonly resource: string;
  readonly operation: Operation;
  readonly #quorums: Quorums;
  readonly #intervalMs: number;
  /** Whether the attempt only reports the written lease, and never writes. */
  readonly isQuery: boolean;
  #recipients: readonly string[];
  #phase: 'reading' | 'writing' = 'reading';
  #yes = 0;
  #no = 0;
  #refusals: Map<string, RefusalCause> | undefined;
  /** The lease under the highest ballot among the answers so far. */
  #found: Lease | undefined;
  #foundBallot: Ballot | undefined;
  #isFoundByAll = true;
  /** The highest round of another proposer in our interval, as far as is known. */
  roundSeen = 0;
  /** The lease to write. */
  proposal: Lease | undefined;
  /** When the present phase began. */
  sinceMs: number;

  constructor(resource: string, ballot: Ballot, asking: Asking) {
    const { operation, quorums, intervalMs, recipients, isQuery } = asking;
    this.resource = resource;
    this.operation = operation;
    this.ballot = ballot;
    this.sinceMs = ballot.askedMs;
    this.#quorums = quorums;
    this.#intervalMs = intervalMs;
    this.#recipients = recipients;
    this.isQuery = isQuery;
  }

  /** The members that are asked. */
  get recipients(): readonly string[] {
    return this.#recipients;
  }

  get asksEverybody(): boolean {
    return this.#recipients.length === this.#quorums.everybody.length;
  }

  /** Asks the other members, too, and returns them. */
  askTheRest(): readonly string[] {
    const asked = this.#recipients;
    this.#recipients = this.#quorums.everybody;
    return this.#recipients.filter((member) => !asked.includes(member));
  }

  /** The question of the present phase. */
  get question(): Question {
    const { resource, proposal: lease } = this;
    const { attempt, askedMs, round } = this.ballot;
    if (this.isQuery) return { kind: 'query', attempt, resource };
    if (lease === undefined) return { kind: 'read', attempt, resource, askedMs, round };
    return { kind: 'write', attempt, resource, askedMs, round, lease };
  }

  /** Members that were asked and have not said yes. */
  get unwilling(): readonly string[] {
    return this.#recipients.filter((member) => !this.#quorums.includes(this.#yes, member));
  }

  get isWriting(): boolean {
    return this.#phase === 'writing';
  }

  get found(): Lease | undefined {
    return this.#found;
  }

  /** Whether a majority has the same lease, so that writing it again would add no certainty. */
  get isCertain(): boolean {
    return this.#isFoundByAll;
  }

  /**
   * Whether the attempt failed only because a rival was faster: a majority has answered, or so many members were
   * outbid that the others could not have helped; in a group of even size the latter takes fewer members.
   */
  get isOutbid(): boolean {
    let outbid = 0;
    for (const [member, why] of this.#refusals ?? []) {
      if (why === 'outbid') outbid = this.#quorums.with(outbid, member);
    }
    return this.#quorums.suffices(this.#yes | outbid) || !this.#quorums.canSuffice(outbid);
  }

  /** The members that did not say yes, with the cause. */
  get refusals(): ReadonlyMap<string, RefusalCause> {
    const refusals = new Map<string, RefusalCause>();
    for (const member of this.#quorums.everybody) {
      if (!this.#quorums.includes(this.#yes, member)) {
        refusals.set(member, this.#refusals?.get(member) ?? 'silent');
      }
    }
    return refusals;
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

  /** An implausible answer counts as a refusal to be read. */
  disbelieve(from: string): Progress {
    return this.#refuse(from, { of: 'read', why: 'not-believed', detail: 0 });
  }

  #refuse(from: string, { of, why, detail }: Refusal): Progress {
    if ((of === 'write') !== this.isWriting || !this.#quorums.has(from)) return 'waiting';
    if (this.#quorums.includes(this.#yes, from)) return 'waiting'; // This member has said yes; the refusal answers a duplicate of the question.
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
