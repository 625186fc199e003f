/**
 * The promises of moves, asked after every event, beside those of `../checker.ts`:
 *
 *  - **nothing-missing.** The owner that serves a key has every write that was acknowledged, unless a loss was recorded since.
 *  - **nothing-revived.** It has nothing else: no deleted item, no item from before a loss.
 *  - **needless-loss.** No loss is recorded while the source lives and remembers the state, or when source and target had both said
 *    their word to the leader that removes the source, before it made the batch.
 *  - **no-loss-on-a-clean-move.** Where Managers fail, messages are lost and owners drain, but no owner fails, nothing is lost at all.
 *  - **arrival-first.** Where the application takes up what it is brought (`onArrive`), no key is served that it has not taken up since the keys
 *    came, also if their lease lapsed meanwhile.
 */

import type { World } from '../../../sim/world.ts';
import type { LogBatch } from '../../../log/log.ts';
import { highOf, lowOf } from '../../../runtime/keys/position.ts';
import { formatRange, type Span } from '../../../runtime/keys/range.ts';
import type { FromManager, Handed, Receiving, Report, ToManager, Update } from '../../core/messages.ts';
import { decodeBatch } from '../../core/state.ts';
import type { OwnerEffect } from '../../core/owner/owner.ts';
import type { TableRecord } from '../../core/table.ts';
import type { Checker } from '../checker.ts';
import type { ManagerNode, OwnerNode } from '../nodes.ts';
import type { SimulatedCarrier } from './carrier.ts';
import { KEYS, keysIn, POSITIONS } from './items.ts';

export const MOVE_PROMISES = [
  'nothing-missing',
  'nothing-revived',
  'needless-loss',
  'no-loss-on-a-clean-move',
  'arrival-first',
] as const;

/** What a source has handed over. */
interface HandedOver extends Span {
  readonly number: number;
  readonly to: string;
}

/** What one Manager has heard and said in one term. */
interface Ears {
  readonly reports: Map<string, Report>;
  readonly updates: Map<string, Update>;
  /** Secrets that it was told: it takes no report of these owners any more. */
  readonly dead: Set<string>;
  /** When each owner last confirmed something new. */
  readonly proven: Map<string, { readonly heard: string; readonly atMs: number }>;
  /** By ticket and digest: when the source first said so, and the target in a report that had heard this term. */
  readonly handed: Map<string, number>;
  readonly staged: Map<string, number>;
}

export class MovesCheck {
  /** Set in worlds in which no owner fails, while keys move. */
  isClean = false;
  /** Set in worlds in which Managers keep nothing: each term is a log of its own, and with its first batch everything is lost. */
  isEachTermALog = false;
  #term = 0;
  readonly #world: World;
  readonly #checker: Checker;
  readonly #owners: () => readonly OwnerNode[];
  readonly #carrierOf: (node: OwnerNode) => SimulatedCarrier | undefined;
  readonly #holdMs: number;
  /** When a Manager made the batch that is committed now. */
  readonly #madeAtMs: (manager: string) => number;
  readonly #expected = new Map<number, number>();
  /** Of each incarnation, by ticket: what it streams, and what it has handed over. */
  readonly #streams = new Map<string, Map<string, HandedOver>>();
  readonly #handed = new Map<string, Map<string, HandedOver>>();
  /** Tickets that were committed. */
  readonly #committedTickets = new Set<string>();
  readonly #ears = new Map<string, Ears>();
  readonly #seen = new Map<OwnerNode, string>();
  /** Of each incarnation, the keys that it was brought and has not taken up. */
  readonly #arriving = new Map<string, Set<number>>();
  #losses = 0;

  constructor(
    world: World,
    checker: Checker,
    owners: () => readonly OwnerNode[],
    carrierOf: (node: OwnerNode) => SimulatedCarrier | undefined,
    holdMs: number,
    madeAtMs: (manager: string) => number,
  ) {
    this.#holdMs = holdMs;
    this.#madeAtMs = madeAtMs;
    this.#world = world;
    this.#checker = checker;
    this.#owners = owners;
    this.#carrierOf = carrierOf;
    world.afterEach(() => this.#lookAtOwners());
    const { committed, managerHeard, managerSends } = checker;
    checker.committed = (batch) => {
      this.#committing(batch);
      committed.call(checker, batch);
    };
    checker.managerHeard = (node, from, message) => {
      this.#heard(node, message);
      managerHeard.call(checker, node, from, message);
    };
    checker.managerSends = (node, to, message) => {
      this.#sent(node, message);
      managerSends.call(checker, node, to, message);
    };
  }

  wrote(key: number, version: number | undefined): void {
    if (version === undefined) this.#expected.delete(key);
    else this.#expected.set(key, version);
    this.#losses += 1;
  }

  /** An owner was told so by its core. */
  told({ incarnation, options }: OwnerNode, effect: OwnerEffect): void {
    if (effect.do === 'arriving' && options.slowMs > 0) this.#arrives(incarnation, effect.spans);
    if (effect.do === 'dropped')
      for (const key of keysIn(effect.spans)) this.#arriving.get(incarnation)?.delete(key);
    if (effect.do === 'stream') {
      const { ticket, span, number, to } = effect;
      mapOf(this.#streams, incarnation).set(ticket, { ...span, number, to });
    } else if (effect.do === 'handed') {
      const stream = this.#streams.get(incarnation)?.get(effect.ticket);
      if (stream !== undefined) mapOf(this.#handed, incarnation).set(effect.ticket, stream);
    } else if (effect.do === 'disagree') this.#handed.delete(incarnation);
    else if (effect.do === 'dropped') for (const span of effect.spans) this.#mayBeLost(incarnation, span);
  }

  #arrives(incarnation: string, spans: readonly Span[]): void {
    const arriving = this.#arriving.get(incarnation) ?? new Set<number>();
    this.#arriving.set(incarnation, arriving);
    for (const key of keysIn(spans)) {
      if (arriving.has(key)) this.#world.count('keys taken up again after a lapse');
      arriving.add(key);
    }
    this.#world.count('arrivals to be taken up');
  }

  /** The application says so. If the keys have lapsed, it is told again to take them up, and begins once more. */
  tookUp({ incarnation, core }: OwnerNode, spans: readonly Span[]): void {
    for (const key of keysIn(spans)) {
      const at = POSITIONS[key] ?? 0n;
      if (core?.pieceAt(highOf(at), lowOf(at))?.phase === 'arriving')
        this.#arriving.get(incarnation)?.delete(key);
    }
  }

  /** The application is told that it has lost these keys. They must not have moved. */
  #mayBeLost(incarnation: string, span: Span & { readonly number: number }): void {
    for (const [ticket, one] of this.#handed.get(incarnation) ?? []) {
      if (one.number !== span.number || one.end <= span.start || span.end <= one.start) continue;
      if (!this.#committedTickets.has(ticket)) continue;
      throw this.#world.broken(
        'needless-loss',
        `${incarnation} was told that ${formatRange(span)} is lost, and it has moved`,
      );
    }
  }

  #earsOf(manager: string, term: number): Ears {
    const key = `${manager} ${term}`;
    let ears = this.#ears.get(key);
    if (ears === undefined)
      this.#ears.set(
        key,
        (ears = {
          reports: new Map(),
          updates: new Map(),
          dead: new Set(),
          proven: new Map(),
          handed: new Map(),
          staged: new Map(),
        }),
      );
    return ears;
  }

  #heard({ name, core }: ManagerNode, message: ToManager): void {
    if (core?.role !== 'leading') return;
    const { reports, dead, proven, handed, staged } = this.#earsOf(name, core.term ?? 0);
    if (message.kind === 'certificate') dead.add(message.secret);
    if (message.kind !== 'report' || dead.has(`secret of ${message.incarnation}`)) return;
    for (const word of message.handed ?? []) this.#note(handed, word);
    if (message.heard?.term === core.term)
      for (const word of message.receiving ?? []) this.#note(staged, word);
    const heard = JSON.stringify(message.heard ?? null);
    if (proven.get(message.incarnation)?.heard !== heard)
      proven.set(message.incarnation, { heard, atMs: this.#world.trueMs });
    const before = reports.get(message.incarnation);
    if (before === undefined || before.sequence < message.sequence) reports.set(message.incarnation, message);
  }

  #note(words: Map<string, number>, { ticket, digest }: Pick<Receiving, 'ticket' | 'digest'>): void {
    const key = `${ticket} ${digest}`;
    if (!words.has(key)) words.set(key, this.#world.trueMs);
  }

  #sent({ name, core }: ManagerNode, message: FromManager): void {
    if (message.kind === 'update')
      this.#earsOf(name, core?.term ?? 0).updates.set(message.incarnation, message);
  }

  /** Before the checker takes the batch in: what it takes from whom, and whether that was needed. */
  #committing(batch: LogBatch): void {
    const { leader, term, pools } = decodeBatch(batch.bytes);
    const ears = this.#earsOf(leader, term);
    if (this.isEachTermALog && term !== this.#term) this.#beginAnew();
    this.#term = term;
    for (const { pool, records } of pools) {
      if (pool !== 'pool') continue;
      const { truth } = this.#checker;
      const taken = new Set(records.flatMap((record) => (record.kind === 'move' ? [record.ticket] : [])));
      this.#world.count('moves', taken.size);
      if (this.isEachTermALog) this.#world.count('moves without a log', taken.size);
      for (const ticket of taken) this.#committedTickets.add(ticket);
      const madeAtMs = this.#madeAtMs(leader);
      for (const record of records) this.#judge(record, ears, taken, madeAtMs);
      const { segments } = truth.pool(pool);
      const moved: Span[] = [];
      for (const record of records) {
        if (record.kind === 'move') moved.push(...record.spans);
        this.#forgetLost(record, segments, moved);
      }
    }
    this.#losses += 1;
  }

  #beginAnew(): void {
    this.#world.count('keys lost with a log', this.#expected.size);
    this.#expected.clear();
    this.#streams.clear();
    this.#handed.clear();
  }

  #forgetLost(
    record: TableRecord,
    segments: readonly (Span & { readonly owner: string | undefined })[],
    moved: readonly Span[],
  ): void {
    if (record.kind === 'free') this.#lose(keysIn(record.spans), 'freed');
    if (record.kind !== 'leave') return;
    const own = segments.filter(({ owner }) => owner === record.incarnation);
    const kept = new Set(keysIn(moved));
    const lost = keysIn(own).filter((key) => !kept.has(key));
    this.#lose(lost, `${record.incarnation} is gone: ${record.why}`);
  }

  #lose(keys: readonly number[], why: string): void {
    if (this.isClean && keys.length > 0)
      throw this.#world.broken('no-loss-on-a-clean-move', `keys ${keys.join(', ')} were lost: ${why}`);
    for (const key of keys) this.#expected.delete(key);
    this.#world.count('keys lost', keys.length);
  }

  #judge(record: TableRecord, ears: Ears, moved: ReadonlySet<string>, madeAtMs: number): void {
    if (record.kind === 'move') this.#isSaid(record.ticket, ears, madeAtMs);
    if (record.kind === 'leave' && record.why !== 'recovered')
      this.#wasHanded(record.incarnation, ears, moved, madeAtMs);
    if (record.kind !== 'free') return;
    for (const span of record.spans) this.#isRemembered(span, ears);
  }

  /** The target must have said that it has everything; otherwise the source had better kept the keys. */
  #isSaid(ticket: string, { reports, staged }: Ears, madeAtMs: number): void {
    for (const { handed = [] } of reports.values()) {
      const word = handed.find((one) => one.ticket === ticket);
      if (word === undefined || isSaidBy(madeAtMs, staged, word)) continue;
      throw this.#world.broken(
        'needless-loss',
        `${formatRange(word)} moves to ${word.to}, which has not said in this term that it has everything`,
      );
    }
  }

  /** A source is removed. What it and the target have both said to this leader must have been committed. */
  #wasHanded(incarnation: string, ears: Ears, moved: ReadonlySet<string>, madeAtMs: number): void {
    for (const word of ears.reports.get(incarnation)?.handed ?? []) {
      if (moved.has(word.ticket) || !this.#isInTable(word, incarnation)) continue;
      if (!isSaidBy(madeAtMs, ears.handed, word) || !isSaidBy(madeAtMs, ears.staged, word)) continue;
      const target = ears.reports.get(word.to);
      const isStaged = target?.receiving?.some(
        ({ ticket, digest }) => ticket === word.ticket && digest === word.digest,
      );
      const isNamed = ears.updates.get(word.to)?.incoming?.some(({ ticket }) => ticket === word.ticket);
      const node = this.#node(word.to);
      const provenAtMs = ears.proven.get(word.to)?.atMs ?? 0;
      if (this.#world.trueMs - provenAtMs > 0.8 * this.#holdMs) continue; // It may be taken for deaf.
      if (!isStaged || !isNamed || node === undefined || !this.#isCertain(word.to)) continue;
      if (target?.heard?.term !== ears.updates.get(word.to)?.term) continue;
      throw this.#world.broken(
        'needless-loss',
        `${incarnation} is removed with ${formatRange(word)}, although ${word.to} and it had both said that it was handed over`,
      );
    }
  }

  /** Keys are freed. The owner must not have remembered them; or it leaves, and the target must not have them. */
  #isRemembered(span: Span, ears: Ears): void {
    for (const node of this.#owners()) {
      if (!node.lives) continue;
      for (const piece of node.leaving ? [] : (node.core?.pieces ?? [])) {
        if (piece.phase !== 'lapsed' || piece.end <= span.start || span.end <= piece.start) continue;
        if (!this.#isInTable(piece, node.incarnation)) continue;
        throw this.#world.broken(
          'needless-loss',
          `${formatRange(span)} is lost although it only lapsed at ${node.incarnation}`,
        );
      }
      for (const [ticket, piece] of this.#handed.get(node.incarnation) ?? []) {
        if (piece.end <= span.start || span.end <= piece.start) continue;
        if (!this.#isInTable(piece, node.incarnation)) continue;
        const word = ears.reports.get(node.incarnation)?.handed?.find((one) => one.ticket === ticket);
        if (node.leaving && (word === undefined || !this.#wasTakenFrom(word, ears))) continue;
        throw this.#world.broken(
          'needless-loss',
          `${formatRange(span)} is lost although ${node.incarnation} handed it over and remembers it`,
        );
      }
    }
  }

  /** Whether the target of a word has everything, and the leader never told it to drop that. */
  #wasTakenFrom(word: Handed, ears: Ears): boolean {
    const node = this.#node(word.to);
    if (node === undefined || !this.#isCertain(word.to) || !this.#isInTable(word, undefined)) return false;
    const isNamed =
      ears.updates.get(word.to)?.incoming?.some(({ ticket }) => ticket === word.ticket) === true;
    return isNamed && this.#carrierOf(node)?.hasImport(word.ticket, word.digest) === true;
  }

  #isInTable({ start, end, number }: Span & { readonly number: number }, owner: string | undefined): boolean {
    return [...this.#checker.truth.pool('pool').overlapping({ start, end })].every(
      (segment) => segment.number === number && (owner === undefined || segment.owner === owner),
    );
  }

  /** A member that nothing is wrong with, as far as a leader could know. */
  #isCertain(incarnation: string): boolean {
    const node = this.#node(incarnation);
    if (node?.core === undefined || !node.process.running) return false;
    return (
      !node.troubled && this.#checker.truth.pool('pool').members.has(incarnation) && node.core.isAdmitted
    );
  }

  #node(incarnation: string): OwnerNode | undefined {
    return this.#owners().find((node) => node.incarnation === incarnation && node.lives);
  }

  #lookAtOwners(): void {
    for (const node of this.#owners()) {
      const { core, process } = node;
      if (core === undefined || !process.running) continue;
      const carrier = this.#carrierOf(node);
      if (carrier === undefined) continue;
      const mark = `${node.incarnation} ${core.version} ${carrier.store.changes} ${this.#losses}`;
      if (this.#seen.get(node) === mark) continue;
      this.#seen.set(node, mark);
      for (let key = 0; key < KEYS; key += 1) this.#lookAtItem(node, carrier, key);
    }
  }

  #lookAtItem(node: OwnerNode, carrier: SimulatedCarrier, key: number): void {
    const at = POSITIONS[key] ?? 0n;
    const [has, should] = [carrier.store.get(key), this.#expected.get(key)];
    if (this.#arriving.get(node.incarnation)?.has(key) && node.check(at) !== undefined)
      throw this.#world.broken(
        'arrival-first',
        `${node.incarnation} serves key ${key} and has not taken it up`,
      );
    if (has === should || node.check(at) === undefined) return;
    const { phase, number } = node.core?.pieceAt(highOf(at), lowOf(at)) ?? {};
    throw this.#world.broken(
      should === undefined ? 'nothing-revived' : 'nothing-missing',
      `${node.incarnation} (${phase} under ${number}) has ${has ?? 'nothing'} under key ${key}, acknowledged was ${should ?? 'nothing'}`,
    );
  }
}

function isSaidBy(madeAtMs: number, words: ReadonlyMap<string, number>, { ticket, digest }: Handed): boolean {
  return (words.get(`${ticket} ${digest}`) ?? Number.POSITIVE_INFINITY) <= madeAtMs;
}

function mapOf<Value>(maps: Map<string, Map<string, Value>>, key: string): Map<string, Value> {
  let map = maps.get(key);
  if (map === undefined) maps.set(key, (map = new Map<string, Value>()));
  return map;
}
