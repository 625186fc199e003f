/**
 * A replica whose disk lost slots that are known to be chosen, until it has them again.
 *
 * It neither votes nor promises nor reads meanwhile: it would have to say what it no longer knows. Chosen values are the same
 * everywhere, so any replica that knows them can send them, and the ballots under which they were accepted no longer
 * matter. When everything is there, {@link Repair.repaired} is what a replica starts from. The slots may come one by one, from several replicas.
 *
 * **The others must not notice.** A replica may have lost gigabytes, and the others share their links and their memory with writes. So one
 * replica at a time is asked, for one piece at a time (`serving.ts`), and the next piece when that one is here:
 *
 *     a            fetch 41 … 90 ──►         fetch 52 … 90 ──► (no answer)     fetch 52 … 90 ──►
 *     b (source)              41 … 51 ◄──                   ✝                                │
 *     c (next one)                                                                            52 … 64 ◄──
 *
 *  - Only the answer to the newest question leads to the next one. A late answer, or one that arrives twice, is made use of but asks for nothing, or there
 *    would be two rows of questions from then on.
 *  - A source that does not answer in time is left for the next one. It may only be slow, and its answer still on the way; so the time grows while
 *    nobody answers, and is at least twice what the last answer took.
 *  - If the slots are compacted away, the source sends its state as of a slot, in parts. Parts of two sources are not mixed (`transfer.ts`),
 *    so a source in the middle of its state is asked a few times more before it is left.
 *
 * **Replicas that repair themselves help each other.** Each of three may have lost another slot, and nobody else is there to ask. So a slot
 * is sent if it is certain which value was chosen there, and only then:
 *
 *     slots      1 … │ missing │ … │ missing │ …            chosen │ …
 *     sent       yes │ no      │yes│ no      │ yes                 │ no
 *
 *  - Beyond the chosen mark another ballot may have replaced the entry.
 *  - Within missing slots an entry may be there that is older than the one in a damaged frame, so nothing is sent of them.
 *  - Of all other slots the readable entry is the chosen one (`recovery.ts`).
 *
 * An answer is no vote and no promise. Whoever hears it learns only what is chosen already, as from a replica that runs.
 */

import { type Instant, later } from '../../runtime/time.ts';
import type { Effect } from './context.ts';
import { fitting, operationBytes } from './fitting.ts';
import type { Entry } from './log.ts';
import type { Fetch, Fetched, Message } from './messages.ts';
import type { Operation } from './operation.ts';
import type { Recovered, Slots } from './recovery.ts';
import { foundBytes, resultBytes } from './result.ts';
import { PIECE_BYTES } from './serving.ts';
import { itemsOf, type Snapshot, type SnapshotPart } from './snapshot.ts';

/** A source is asked so often, without an answer, before the next one; in the middle of its state more often. */
const ASKED_MAX = 1;
const ASKED_FOR_PARTS_MAX = 3;

/** The time to wait for an answer doubles so often at most. */
const DOUBLED_MAX = 4;

/** How far a repair is, for operators. */
export interface RepairProgress {
  /** Slots that the disk lost, and how many of them are here again, or in the state that is being fetched. */
  readonly slots: number;
  readonly fetched: number;
  /** What has come so far. */
  readonly bytes: number;
  /** The first slot that is not here. */
  readonly next: number;
  /** The storage id of the replica that is asked; undefined if none is known. */
  readonly from: string | undefined;
}

/** The state of a source as of a slot, as far as it has come. */
interface Incoming {
  readonly from: string;
  readonly slot: number;
  readonly parts: SnapshotPart[];
  count: number;
}

export class Repair {
  readonly #recovered: Recovered;
  /** Read again and again: replicas that are heard of later are added. */
  readonly #contacts: readonly string[];
  readonly #retryMs: number;
  /** The slots that nobody has sent yet. */
  #lacking: readonly Slots[];
  #source = 0;
  #asked: { readonly to: string; readonly question: Fetch; readonly at: Instant } | undefined;
  #askAt: Instant;
  /** Questions in a row without an answer, to the source and to all. */
  #unanswered = 0;
  #unansweredByAll = 0;
  #tookMs = 0;
  /** What has come of the missing slots. */
  readonly #fetched = new Map<number, Operation>();
  #incoming: Incoming | undefined;
  #parts: readonly SnapshotPart[] = [];
  #bytes = 0;
  #repaired: Recovered | undefined;

  /** @param retryMs how long a source that is not busy may take to answer */
  constructor(recovered: Recovered, contacts: readonly string[], retryMs: number, now: Instant) {
    this.#recovered = recovered;
    this.#lacking = recovered.missing;
    this.#contacts = contacts;
    this.#retryMs = retryMs;
    this.#askAt = now;
  }

  /** As the disk says. */
  get recovered(): Recovered {
    return this.#recovered;
  }

  get repaired(): Recovered | undefined {
    return this.#repaired;
  }

  /** The snapshot of {@link repaired}, if it was fetched, in parts. The disk does not have it yet. */
  get parts(): readonly SnapshotPart[] {
    return this.#parts;
  }

  get progress(): RepairProgress {
    const slots = count(this.#recovered.missing);
    const fetched = slots - count(this.#lacking);
    return {
      ...{ slots, fetched, bytes: this.#bytes, from: this.#asked?.to },
      next: this.#lacking[0]?.first ?? 0,
    };
  }

  get wakeAt(): Instant | undefined {
    return this.#repaired === undefined ? this.#askAt : undefined;
  }

  wake(now: Instant): Effect[] {
    if (this.#repaired !== undefined || now < this.#askAt) return [];
    if (this.#asked !== undefined) this.#missed();
    return this.#ask(now);
  }

  receive(from: string, message: Message, now: Instant): Effect[] {
    if (message.kind === 'fetch') {
      const answer = this.#answer(message);
      return answer === undefined ? [] : [{ do: 'send', to: from, message: answer }];
    }
    if (message.kind !== 'fetched' || this.#repaired !== undefined) return [];
    const isAwaited = this.#isAwaited(from, message);
    if (message.part !== undefined) this.#takePart(from, message.part);
    this.#takeSlots(message);
    if (this.#lacking.length === 0) this.#finish();
    if (!isAwaited || this.#repaired !== undefined) return [];
    this.#tookMs = now - (this.#asked?.at ?? now);
    this.#unanswered = 0;
    this.#unansweredByAll = 0;
    return this.#ask(now);
  }

  /** The source did not answer. */
  #missed(): void {
    this.#unanswered += 1;
    this.#unansweredByAll += 1;
    const isInParts = this.#incoming !== undefined && this.#incoming.from === this.#asked?.to;
    if (this.#unanswered < (isInParts ? ASKED_FOR_PARTS_MAX : ASKED_MAX)) return;
    this.#source += 1;
    this.#unanswered = 0;
  }

  #ask(now: Instant): Effect[] {
    const rounds = Math.floor(this.#unansweredByAll / Math.max(1, this.#contacts.length));
    const waitMs = Math.max(this.#retryMs, 2 * this.#tookMs) * 2 ** Math.min(DOUBLED_MAX, rounds);
    this.#askAt = later(now, waitMs);
    const to = this.#contacts[this.#source % this.#contacts.length];
    const lacking = this.#lacking[0];
    if (to === undefined || lacking === undefined) return [];
    const isInParts = this.#incoming?.from === to;
    const [partOf, next] = isInParts && this.#incoming ? [this.#incoming.slot, this.#incoming.count] : [0, 0];
    const question: Fetch = { kind: 'fetch', first: lacking.first, last: lacking.last, partOf, next };
    this.#asked = { to, question, at: now };
    return [{ do: 'send', to, message: question }];
  }

  /** Whether this is the answer to the newest question, and brings something. */
  #isAwaited(from: string, { first, operations, part }: Fetched): boolean {
    if (this.#asked === undefined || this.#asked.to !== from) return false;
    const { question } = this.#asked;
    if (part === undefined) return first === question.first && operations.length > 0;
    return part.first === question.next && (part.slot === question.partOf || part.first === 0);
  }

  /** As many slots as are certain and fit, from the first that was asked for. The other replica asks somebody else for the next one. */
  #answer({ first, last }: Fetch): Fetched | undefined {
    const { snapshot, entries, chosen, missing } = this.#recovered;
    const base = snapshot?.slot ?? 0;
    const certain = function* (): Generator<Operation> {
      for (let slot = first; slot <= Math.min(last, chosen); slot += 1) {
        const entry = slot > base && !isAmong(missing, slot) ? entries[slot - base - 1] : undefined;
        if (entry === undefined) return;
        yield entry.operation;
      }
    };
    const operations = fitting(certain(), PIECE_BYTES);
    return operations.length === 0 ? undefined : { kind: 'fetched', first, operations, part: undefined };
  }

  #takeSlots({ first, operations }: Fetched): void {
    operations.forEach((operation, place) => {
      const slot = first + place;
      if (!isAmong(this.#lacking, slot)) return;
      this.#fetched.set(slot, operation);
      this.#bytes += operationBytes(operation);
      this.#lacking = this.#lacking.flatMap((each) => without(each, slot, slot));
    });
  }

  /** A part of the state of the source that is asked; the first one begins anew. */
  #takePart(from: string, part: SnapshotPart): void {
    if (from !== this.#asked?.to || part.slot < (this.#lacking[0]?.first ?? 0)) return;
    const known = this.#incoming;
    const goesOn = known?.from === from && known.slot === part.slot;
    const incoming = goesOn ? known : { from, slot: part.slot, parts: [], count: 0 };
    if (part.first !== incoming.count) return;
    this.#incoming = incoming;
    incoming.parts.push(part);
    incoming.count += itemsOf(part);
    this.#bytes += bytesOfPart(part);
    if (!part.isLast) return;
    this.#parts = incoming.parts;
    this.#incoming = undefined;
    this.#lacking = this.#lacking.flatMap((each) => without(each, 0, part.slot));
  }

  #finish(): void {
    const { entries: own, snapshot: ownSnapshot } = this.#recovered;
    const snapshot = snapshotOf(this.#parts) ?? ownSnapshot;
    const ownBase = ownSnapshot?.slot ?? 0;
    const base = snapshot?.slot ?? 0;
    const end = Math.max(this.#recovered.missing.at(-1)?.last ?? 0, ownBase + own.length);
    const entries: (Entry | undefined)[] = [];
    for (let slot = base + 1; slot <= end; slot += 1) {
      const operation = this.#fetched.get(slot);
      entries.push(operation === undefined ? own[slot - ownBase - 1] : { ballot: 0, operation });
    }
    const chosen = Math.max(this.#recovered.chosen, base);
    const committed = Math.max(this.#recovered.committed, base);
    this.#repaired = {
      ...this.#recovered,
      ...{ snapshot, entries, chosen, committed, missing: [], isRepaired: true },
    };
  }

  suspended(): Effect[] {
    return [];
  }
}

const isAmong = (spans: readonly Slots[], slot: number): boolean =>
  spans.some(({ first, last }) => first <= slot && slot <= last);

const count = (spans: readonly Slots[]): number =>
  spans.reduce((sum, { first, last }) => sum + last - first + 1, 0);

/** What is left of the span: up to two spans. */
const without = (span: Slots, first: number, last: number): Slots[] =>
  [
    { first: span.first, last: Math.min(span.last, first - 1) },
    { first: Math.max(span.first, last + 1), last: span.last },
  ].filter((each) => each.first <= each.last);

function snapshotOf(parts: readonly SnapshotPart[]): Snapshot | undefined {
  const last = parts.at(-1);
  if (last === undefined) return undefined;
  const values = parts.flatMap((part) => part.values);
  const sessions = parts.flatMap((part) => part.sessions);
  return { slot: last.slot, configuration: last.configuration, state: { values, sessions } };
}

/** The rough size of a part. */
function bytesOfPart({ values, sessions }: SnapshotPart): number {
  let bytes = foundBytes(values);
  for (const { outcomes } of sessions) for (const { result } of outcomes) bytes += resultBytes(result);
  return bytes;
}
