/**
 * Do all Managers of a list lead one log? An owner or look-up asks each of them, because they cannot know of each other.
 *
 * Two Managers on separate logs in one `managers` list each grant every key. Half of the owners follow one, half the other,
 * and every key has two owners. No Manager can see that: neither has heard of the other's log. A client that reaches both
 * can. So every client asks every Manager in its list, in rounds: "do you lead, which history, in which term?"
 *
 *     round k     ├ probe ──► A: I lead x ──► B: I lead y ┤         x and y were led once: perhaps y has just replaced x
 *     round k+1                                             ├ probe ──► A: x ──► B: y ┤    both are led: the Managers disagree
 *
 * **The proof.** A log that was lost is replaced by a new one, so a second history alone proves nothing: x may be
 * gone. An answer is made after its probe was sent, and answers of a round that is over do not count. So answers of a later
 * round are made later. If x and y were both heard, each in a first and a last round, and the later of the two first rounds
 * is before the earlier of the two last rounds, then one of the histories was led before and after the other. A history
 * that was replaced never comes back, so neither has replaced the other: both are led at once.
 *
 * **Copies of one log.** If a data directory is copied, and a Manager runs on each copy, both lead one history. Then terms tell. One
 * log gives each term to one process, and a later term deposes the earlier ones:
 *
 *  - Two leader ids for one history and term are two logs, at once. That is the case if both Managers started after the copy was made.
 *  - A copy that is made while A leads in term t is led by B in term t+1. As soon as a client hears that t+1 is led, the word of term t
 *    counts no more ({@link HistoryWatch.isOutdated}), as if B had sent an update. So A renews no lease of that client.
 *  - That may be an ordinary succession. But if A leads in the round in which B was first heard, or in a later one, B's word is not used
 *    either until A was last heard a hold ago. If A still leads two holds after B was first heard, A was not deposed: two logs.
 *  - If the Managers share the log (`isLogShared`), B may be elected while A does not know so yet: etcd can end a leader's lease early. Then
 *    B's word is not used while A leads, and is used after the first round in which A does not. A hold would be too long: owners that
 *    happened to ask in between would lose all keys at an ordinary leader change. A directory has one Manager, so there is no such change.
 *  - An update of a later term that no Manager has said it leads waits for a round, if the leader of an earlier term was heard in the last.
 *
 * *Why B does not grant a key before the owner under A has dropped the key.* B found the owner in the copied table, and waits a takeover
 * hold from its election: a hold and a leader lease, 13.6 s by default. The owner asks B every quarter of a lease (2.25 s), or when it
 * reaches B again (a dialler pauses for 2 s at most), and from the answer on its last lease runs for 9 s at most: it ends after
 * 11.5 s and a round trip. With equal terms the owner lets go at the answer. If the owner is not in the copied table, or has let
 * go of the key since, B may grant the key at once. But a client that hears both uses no word of B while A leads, and an owner that
 * reports to B shows the position it has seen under A, which halts B (`manager/rollback-detector.ts`).
 *
 * **Answers that get lost or come late.** A Manager that has not answered is asked again within the round, because silence ends a
 * disagreement: after a whole hold of it the other history is used. Asked once a round, with one message in seven lost, an owner heard
 * nothing for a hold of a Manager that it could reach, and served again while two logs were led. The argument above does not change:
 * an answer to a repeated probe was made within the round, too. An answer to an earlier round proves no order, but the leader that it
 * names may lead still: for a hold from now keys may be held under that leader.
 *
 * **The consequence.** The client uses neither history: an owner lets go of everything, a look-up has no table. The disagreement
 * ends when one history alone is led and every other one was last heard a whole hold ago, because until then an owner that
 * reached only the other Manager may still hold keys.
 *
 * **In the meantime.** A grant or table counts only if a round is over, and every other history was last heard a whole hold
 * ago. So a client that has just started has asked every Manager before it uses anything, and a client that followed x follows
 * y only when the leases that were given under x, as far as it heard, are over. A round is over when every Manager has
 * answered or cannot be reached, or when the time for it is up: Managers that are down delay a client once, by one round.
 *
 * **Which words count.** Only those of an address in the client's own list, on the connection that the client dialled. A
 * process that reaches the ports of Managers and clients can therefore cause no disagreement. One that listens at an
 * address of the list can, but that one could also grant keys.
 *
 * **The limit.** If no client has both Managers in its list, or none reaches both, nobody hears of both. A client that
 * reaches only the copy takes keys that are free in the copy, at once, although they may be held under the original. A client that
 * cannot reach the copy goes on with the original. With leases below 5 s the pause of a dialler may be longer than the wait of B
 * allows. A Manager that stands by does not count: only leaders grant keys.
 *
 * With one address in the list there is nothing to compare, and nothing is asked.
 *
 * This file does no I/O: {@link HistoryWatch.wake} at {@link HistoryWatch.wakeAt}, and send the probes that it returns.
 */

import { earliest, type Instant, later } from '../../runtime/time.ts';
import type { Leadership, Probe, Role } from './messages.ts';

/** A history that a Manager says it leads. */
export interface LedHistory {
  readonly history: string;
  readonly term: number;
  /** The address of the Manager, as it is in the list. */
  readonly manager: string;
}

export interface HistoryWatchSettings {
  /** The incarnation or look-up that asks. */
  readonly asker: string;
  readonly managers: readonly string[];
}

export interface ProbePace {
  /** How often every Manager is asked. */
  readonly everyMs: number;
  /** How long to wait at least between two rounds, if two histories were heard; and before an unanswered probe is repeated. */
  readonly soonMs: number;
}

interface Heard extends LedHistory, Leadership {
  readonly firstRound: number;
  readonly lastRound: number;
  readonly firstHeardAt: Instant;
  /** When the last round with this leader began. */
  readonly askedAt: Instant;
  readonly heardAt: Instant;
}

type HistoryAndTerm = Pick<Leadership, 'history' | 'term'>;

interface Round {
  readonly number: number;
  readonly sentAt: Instant;
  /** When the Managers that have not answered are asked again. */
  repeatAt: Instant;
  /** Managers that have not answered yet. */
  readonly open: Set<string>;
  readonly led: Set<string>;
}

/** Of more leaders than these, the one that was heard longest ago is forgotten. */
const MOST_LEADERS = 16;

/** When two rivals were heard in so many rounds, the next rounds come quickly, because answers may get lost. */
const RECENT_ROUNDS = 6;

/** A Manager on a busy machine may take this much longer to answer than one that is asked again quickly. Until then it is asked so often. */
const SOON_PER_ROUND = 4;

/** A deposed leader leads for a leader lease at most, which is shorter than a hold, and the leases that it gave end within the next. */
const DEPOSED_WITHIN_HOLDS = 2;

export class HistoryWatch {
  readonly #settings: HistoryWatchSettings;
  readonly #pace: () => ProbePace;
  /** By {@link keyOf}. */
  readonly #heard = new Map<string, Heard>();
  #rounds = 0;
  #round: Round | undefined;
  /** The leaders that were heard in the last round that is over, and not lost since. */
  #led: Set<string> | undefined;
  /** When the last round began; undefined: none has begun. */
  #sentAt: Instant | undefined;
  /** Another history may have come to be led, so the next round does not wait for its turn. */
  #isDoubtful = false;
  #disagreement: readonly LedHistory[] | undefined;

  constructor(settings: HistoryWatchSettings, pace: () => ProbePace) {
    this.#settings = settings;
    this.#pace = pace;
  }

  /** Undefined: there is nothing to compare, or nothing was asked yet. */
  get wakeAt(): Instant | undefined {
    return this.#compares && this.#sentAt !== undefined ? this.#dueAt(this.#sentAt) : undefined;
  }

  /** When the present round is over at the latest or its probes are repeated, or the next one begins. */
  #dueAt(sentAt: Instant): Instant {
    const { everyMs, soonMs } = this.#pace();
    if (this.#round !== undefined) return earliest(this.#round.repeatAt, this.#endsAt(sentAt));
    return later(sentAt, this.#isDoubtful ? soonMs : everyMs);
  }

  #endsAt(sentAt: Instant): Instant {
    return later(sentAt, SOON_PER_ROUND * this.#pace().soonMs);
  }

  /** Histories that are led at the same time; undefined: there are none. */
  get disagreement(): readonly LedHistory[] | undefined {
    return this.#disagreement;
  }

  /** The history of the only leader in the last round; undefined: there was none, or several. */
  get onlyLed(): string | undefined {
    return this.#onlyLeader?.history;
  }

  get #onlyLeader(): Heard | undefined {
    const [only = '', ...more] = this.#led ?? [];
    return more.length === 0 ? this.#heard.get(only) : undefined;
  }

  /** Whether a later term of this history is led, so that this one counts no more. */
  isOutdated({ history, term }: HistoryAndTerm): boolean {
    return [...this.#heard.values()].some((other) => other.history === history && other.term > term);
  }

  /** Whether the word of a Manager that speaks of this history and term may be used. */
  permits(word: HistoryAndTerm, now: Instant): boolean {
    if (!this.#compares) return true;
    if (this.#disagreement !== undefined || this.#led === undefined) return false;
    return !this.#mayBeHeldUnder((leader) => this.#isRival(leader, word), now);
  }

  #isRival(leader: Heard, { history, term }: HistoryAndTerm): boolean {
    if (leader.history !== history) return true;
    if (leader.term >= term) return false;
    const successor = [...this.#heard.values()].find(
      (other) => other.history === history && other.term === term,
    );
    if (successor === undefined || leader.isLogShared) return this.#led?.has(keyOf(leader)) === true;
    return leader.lastRound >= successor.firstRound;
  }

  #mayBeHeldUnder(which: (leader: Heard) => boolean, now: Instant): boolean {
    const heard = [...this.#heard.values()].filter(which);
    return heard.some(({ heardAt, holdMs }) => now < later(heardAt, holdMs));
  }

  /** Ends a round that takes too long, repeats what was not answered, and begins the next round when it is time. */
  wake(now: Instant): { readonly to: string; readonly message: Probe }[] {
    if (!this.#compares) return [];
    const sentAt = this.#sentAt;
    if (sentAt !== undefined && this.#round !== undefined && now >= this.#endsAt(sentAt))
      this.#finish(this.#round, now);
    if (sentAt !== undefined && now < this.#dueAt(sentAt)) return [];
    const { soonMs } = this.#pace();
    if (this.#round !== undefined) {
      this.#round.repeatAt = later(now, soonMs);
      return this.#probes(this.#round);
    }
    this.#rounds += 1;
    this.#sentAt = now;
    const open = new Set(this.#settings.managers);
    const repeatAt = later(now, soonMs);
    this.#round = { number: this.#rounds, sentAt: now, repeatAt, open, led: new Set() };
    return this.#probes(this.#round);
  }

  /** One for each Manager that has not answered in this round. */
  #probes({ number, open }: Round): { readonly to: string; readonly message: Probe }[] {
    const message: Probe = { kind: 'probe', asker: this.#settings.asker, round: number };
    return [...open].map((to) => ({ to, message }));
  }

  hear(from: string, { asker, round: number, leads }: Role, now: Instant): void {
    const round = this.#round;
    if (asker !== this.#settings.asker) return;
    if (round === undefined || number !== round.number) {
      if (number <= this.#rounds && this.#settings.managers.includes(from)) this.#hearLate(leads, now);
      return;
    }
    if (!round.open.delete(from)) return;
    if (leads !== undefined) {
      const key = keyOf(leads);
      const { firstRound = number, firstHeardAt = now } = this.#heard.get(key) ?? {};
      this.#heard.delete(key); // The leader that was heard last comes last.
      this.#heard.set(key, {
        ...leads,
        ...{ manager: from, firstRound, lastRound: number },
        ...{ firstHeardAt, askedAt: round.sentAt, heardAt: now },
      });
      round.led.add(key);
    }
    if (round.open.size === 0) this.#finish(round, now);
  }

  /** The answer is to an earlier round. A leader that is not known yet is heard in a later one. */
  #hearLate(leads: Leadership | undefined, now: Instant): void {
    const leader = leads === undefined ? undefined : this.#heard.get(keyOf(leads));
    if (leader !== undefined) this.#heard.set(keyOf(leader), { ...leader, heardAt: now });
  }

  /** There is no connection to this Manager, so it will not answer. */
  unreachable(address: string, now: Instant): void {
    for (const [key, { manager }] of this.#heard) if (manager === address) this.#led?.delete(key);
    const round = this.#round;
    if (round?.open.delete(address) && round.open.size === 0) this.#finish(round, now);
  }

  /** The machine was suspended: whether an answer came before or after the next probe cannot be known. */
  suspended(): void {
    this.#round = undefined;
    this.#isDoubtful = true;
  }

  /** A Manager can be reached again, or speaks of another history: asks soon. */
  hurry(): void {
    this.#isDoubtful = true;
  }

  /** A list that was cut down to one address does not end a disagreement: others may still hold keys. */
  get #compares(): boolean {
    return this.#settings.managers.length > 1 || this.#disagreement !== undefined;
  }

  #finish(round: Round, now: Instant): void {
    this.#round = undefined;
    this.#led = round.led;
    this.#judge(now);
    const recent = [...this.#heard.values()].filter(
      ({ lastRound }) => lastRound > round.number - RECENT_ROUNDS,
    );
    const hasRivals = recent.some((one) => recent.some((other) => this.#isRival(one, other)));
    this.#isDoubtful = hasRivals || this.#disagreement !== undefined;
  }

  #judge(now: Instant): void {
    for (const key of this.#heard.keys()) if (this.#heard.size > MOST_LEADERS) this.#heard.delete(key);
    if (this.#disagreement !== undefined) this.#reconsider(now);
    const heard = [...this.#heard.values()];
    const disagreeing = heard.filter((one) => heard.some((other) => leadTwoLogs(one, other)));
    if (disagreeing.length === 0) return;
    this.#disagreement = disagreeing.map(({ history, term, manager }) => ({ history, term, manager }));
  }

  /** The disagreement is over if one leader alone is left, and nobody can hold keys under another. */
  #reconsider(now: Instant): void {
    const only = this.#onlyLeader;
    if (only === undefined || this.#mayBeHeldUnder((leader) => leader !== only, now)) return;
    for (const [key, leader] of this.#heard) if (leader !== only) this.#heard.delete(key);
    this.#disagreement = undefined;
  }
}

const keyOf = ({ history, term, leader }: Leadership): string => JSON.stringify([history, term, leader]);

/** Whether these are two leaders that no single log can have had. */
function leadTwoLogs(one: Heard, other: Heard): boolean {
  if (one.history !== other.history)
    return Math.max(one.firstRound, other.firstRound) < Math.min(one.lastRound, other.lastRound);
  if (one.term === other.term) return one.leader !== other.leader;
  const [earlier, successor] = one.term < other.term ? [one, other] : [other, one];
  return earlier.askedAt >= later(successor.firstHeardAt, DEPOSED_WITHIN_HOLDS * earlier.holdMs);
}
