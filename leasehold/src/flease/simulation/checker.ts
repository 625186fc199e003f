/**
 * The promises of flease, checked from outside, with all clocks and all processes visible at one instant.
 *
 *  - **one-holder.** At no instant would two processes, paused ones among them, say that they hold a resource.
 *  - **numbers-grow.** Every grant of a resource has a greater number than any before, so a register that
 *    compares them never refuses the holder.
 *  - **valid-when-returned.** A granted lease is held at that instant.
 *  - **held-until-said.** A lease granted until an instant is not lost to another member before it.
 *  - **agreement.** An answer that p holds the lease until u is not contradicted: no other process is granted the lease
 *    before p's clock must have passed u, unless p has released it. A request that was told that nobody holds the lease,
 *    or another holder under a lower number, was made no later than the grant to the present holder.
 *  - **silent-after-restart.** A member that has lost its memory promises, accepts and asks nothing for a lease and two
 *    skews.
 *  - **answered-once.** No request is granted twice.
 *  - **told-of-the-end.** The end of every held lease is reported, once and soon; and before, if the process ran, that
 *    it is about to end. No ended lease is renewed.
 *  - **progress**, **forgets.** See `calm.ts`.
 *  - **comes-to-an-end.** Time goes on: no process is woken for ever without anything to do, which the world notices by the
 *    number of events (`sim/world.ts`).
 */

import type { World } from '../../sim/world.ts';
import type { Request } from '../core/resource-state.ts';
import type { HeldLease } from '../core/held-lease.ts';
import type { Lease } from '../core/lease.ts';
import type { MemberEvent } from '../core/member.ts';
import type { Packet } from '../core/messages.ts';
import type { ResolvedFleaseDurations } from '../core/options.ts';
import { ITEMS_ENOUGH } from '../core/messages.ts';
import type { FleaseNode, Observer } from './node.ts';
import { EPOCH_MS } from './timekeeping.ts';

export const PROMISES = [
  'one-holder',
  'numbers-grow',
  'valid-when-returned',
  'held-until-said',
  'agreement',
  'silent-after-restart',
  'answered-once',
  'told-of-the-end',
  'progress',
  'forgets',
  'comes-to-an-end',
] as const;
export type PromiseName = (typeof PROMISES)[number];

interface Known {
  readonly node: FleaseNode;
  readonly incarnation: number;
  readonly held: HeldLease;
  readonly grantedMs: number;
  /** As last reported. */
  untilMs: number;
  isNoticed: boolean;
  isEnded: boolean;
}

/** A request without an answer yet. */
export interface Waiting {
  readonly node: FleaseNode;
  readonly incarnation: number;
  readonly resource: string;
  readonly kind: Request['kind'];
  readonly sinceMs: number;
  /** How often each other member was granted the resource, since. */
  readonly turns: Map<FleaseNode, number>;
}

interface Told {
  readonly lease: Lease;
  readonly by: string;
}

/** Instants are read in whole milliseconds, twice. */
const READINGS_MS = 3;
const ROUNDING_MS = 0.01;

export class Checker implements Observer {
  readonly #world: World;
  readonly #durations: ResolvedFleaseDurations;
  /** How late a running process may report. */
  readonly #latenessMs: number;
  readonly #heldLeases = new Map<string, Known[]>();
  readonly #known = new Map<HeldLease, Known>();
  readonly #numbers = new Map<string, number>();
  readonly #fenced = new Map<string, number>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #cancelled = new Set<string>();
  readonly #told = new Map<string, Told[]>();
  /** The highest number of each resource that an incarnation of a member has released. */
  readonly #letGo = new Map<string, number>();
  /** The group's clock of each node when it lost its memory. */
  readonly #recoveringSince = new Map<FleaseNode, number>();
  /** Called for every grant, while set. */
  onGrant: ((waiting: Waiting) => void) | undefined;

  constructor(world: World, durations: ResolvedFleaseDurations, latenessMs: number) {
    this.#world = world;
    this.#durations = durations;
    this.#latenessMs = latenessMs + 2 + durations.leaseMs / 500;
    world.afterEach(() => this.#oneHolder());
    const lookMs = durations.leaseMs / 20;
    world.every([lookMs, lookMs], () => this.#endsAreTold());
  }

  happened(what: string): void {
    this.#world.count(what);
  }

  /** Requests without an answer, of living processes. */
  waiting(): Waiting[] {
    return [...this.#waiting.values()].filter(({ node, incarnation }) => isItsIncarnation(node, incarnation));
  }

  began(node: FleaseNode): void {
    this.happened('lives');
    this.#recoveringSince.set(node, node.groupMs);
    for (const [key, waiting] of this.#waiting) if (waiting.node === node) this.#waiting.delete(key);
  }

  requested(node: FleaseNode, resource: string, { kind, id }: Request): void {
    const { incarnation } = node.process;
    const waiting: Waiting = {
      node,
      incarnation,
      resource,
      kind,
      sinceMs: this.#world.trueMs,
      turns: new Map(),
    };
    this.#waiting.set(keyOf(node, id), waiting);
    node.note(kind, { resource, id });
  }

  /** The request may still be answered in the same turn. */
  cancelled(node: FleaseNode, id: number): void {
    const key = keyOf(node, id);
    this.#waiting.delete(key);
    this.#cancelled.add(key);
  }

  sends(node: FleaseNode, packet: Packet): void {
    if (packet.items.length >= ITEMS_ENOUGH) this.happened('packets that were full');
    for (const item of packet.items) {
      if (item.kind === 'refused') this.happened(`refused, ${item.why}`);
      if (item.kind === 'write' && item.lease.state !== 'held' && item.lease.holder === node.name) {
        this.#letsGo(item.resource, item.lease);
      }
      const isWord =
        item.kind === 'read' ||
        item.kind === 'write' ||
        item.kind === 'query' ||
        item.kind === 'promised' ||
        item.kind === 'found' ||
        item.kind === 'accepted';
      if (isWord) this.#isAfterRecovery(node, item.kind);
    }
  }

  tells(node: FleaseNode, event: MemberEvent): void {
    switch (event.kind) {
      case 'granted':
        this.#granted(node, event.request, event.held);
        return;
      case 'told':
        this.#wasTold(node, event.request, event.lease);
        return;
      case 'held':
      case 'failed':
        this.happened(event.kind === 'held' ? 'held by another' : 'without a majority');
        node.note(event.kind, { id: event.request });
        this.#waiting.delete(keyOf(node, event.request));
        return;
      case 'renewed':
        this.#renewed(node, event.held);
        return;
      case 'ending':
        this.happened('ending');
        node.note('ending', describe(event.held));
        this.#knownOf(event.held).isNoticed = true;
        return;
      case 'ended':
        this.#ended(node, event.held);
        return;
      case 'left':
        this.happened(
          event.held.state === 'given-back' ? 'given back' : 'let go of, and not told to a majority',
        );
        node.note('left', describe(event.held));
        return;
      case 'recovering':
        this.happened(`recovering, ${event.why}`);
        node.note('recovering', { why: event.why });
        if (event.why !== 'began') this.#recoveringSince.set(node, node.foundMs);
        return;
      case 'ready':
        node.note('ready', {});
        return;
      case 'settled':
        this.happened('settled');
        node.note('settled', { view: event.view });
        return;
      default:
        this.happened(`trouble, ${event.trouble.why}`);
        node.note('trouble', { peer: event.peer, why: event.trouble.why });
    }
  }

  /** A write under this lease reaches its register. */
  fenced(node: FleaseNode, held: HeldLease): void {
    const { resource, number } = held;
    const highest = this.#fenced.get(resource) ?? 0;
    if (number >= highest) {
      this.#fenced.set(resource, number);
      this.happened('fenced writes');
      return;
    }
    this.happened('fenced writes refused');
    if (node.holds(held)) {
      throw this.#broken('numbers-grow', `the register has refused ${number}, which ${node.name} holds`);
    }
  }

  #granted(node: FleaseNode, request: number, held: HeldLease): void {
    const { resource, number } = held;
    this.happened('granted');
    node.note('granted', { id: request, ...describe(held) });
    const before = this.#numbers.get(resource) ?? 0;
    if (number <= before) {
      throw this.#broken('numbers-grow', `${node.name} is granted ${number} of ${resource} after ${before}`);
    }
    this.#numbers.set(resource, number);
    if (!node.holds(held)) {
      throw this.#broken('valid-when-returned', `${node.name} is granted ${number}, which is over`);
    }
    this.#isAsTold(node, held);
    const known: Known = {
      ...{ node, incarnation: node.process.incarnation, held, grantedMs: this.#world.trueMs },
      ...{ untilMs: held.untilMs, isNoticed: false, isEnded: false },
    };
    this.#known.set(held, known);
    const heldLeases = this.#heldLeases.get(resource) ?? [];
    this.#heldLeases.set(resource, [...heldLeases.filter((other) => !isOver(other)), known]);
    this.#countTurns(node, request, resource);
  }

  #countTurns(node: FleaseNode, request: number, resource: string): void {
    const key = keyOf(node, request);
    const own = this.#waiting.get(key);
    this.#waiting.delete(key);
    for (const waiting of this.#waiting.values()) {
      if (waiting.resource !== resource || waiting.kind !== 'acquire' || waiting.node === node) continue;
      waiting.turns.set(node, (waiting.turns.get(node) ?? 0) + 1);
    }
    if (own !== undefined) this.onGrant?.(own);
    else if (!this.#cancelled.has(key)) {
      throw this.#broken('answered-once', `${request} of ${node.name} is answered twice`);
    }
  }

  #renewed(node: FleaseNode, held: HeldLease): void {
    const known = this.#knownOf(held);
    this.happened('renewed');
    node.note('renewed', describe(held));
    if (node.foundMs > known.untilMs) {
      throw this.#broken('told-of-the-end', `${held.number} of ${node.name} was over, and is renewed`);
    }
    known.isNoticed = false;
    known.untilMs = held.untilMs;
  }

  #ended(node: FleaseNode, held: HeldLease): void {
    const known = this.#knownOf(held);
    const { ended, untilMs } = held;
    this.happened(`ended, ${ended}`);
    node.note('ended', { why: ended, ...describe(held) });
    if (known.isEnded || ended === undefined) {
      throw this.#broken('told-of-the-end', `${held.number} of ${node.name} has ended twice, or not at all`);
    }
    known.isEnded = true;
    const { resource, number } = held;
    if (ended === 'released') {
      this.#letsGo(resource, { holder: node.name, incarnation: node.incarnation, number });
    }
    const { noticeMs } = this.#durations;
    const agoMs = this.#world.trueMs - node.stoppedUntilMs;
    if (ended === 'lapsed' && !known.isNoticed && agoMs > noticeMs + this.#latenessMs) {
      throw this.#broken('told-of-the-end', `${held.number} of ${node.name} has lapsed without notice`);
    }
    const timeMs = node.member?.timeAt(node.reading());
    if (ended === 'lost' && timeMs !== undefined && timeMs <= untilMs) {
      throw this.#broken('held-until-said', `${node.name} has lost ${held.number} before its end`);
    }
  }

  #oneHolder(): void {
    for (const [resource, heldLeases] of this.#heldLeases) {
      if (heldLeases.length < 2) continue;
      const holders = heldLeases.filter((known) => !isOver(known) && known.node.holds(known.held));
      if (holders.length < 2) {
        if (heldLeases.some(isOver))
          this.#heldLeases.set(
            resource,
            heldLeases.filter((known) => !isOver(known)),
          );
        continue;
      }
      const names = holders.map(({ node, held }) => `${node.name} (${held.number})`);
      throw this.#broken('one-holder', `${names.join(' and ')} hold ${resource}`);
    }
  }

  #wasTold(node: FleaseNode, request: number, lease: Lease | undefined): void {
    this.happened(lease === undefined ? 'told: nobody' : 'told: somebody');
    node.note('told', { id: request, holder: lease?.holder, number: lease?.number, state: lease?.state });
    const key = keyOf(node, request);
    const asked = this.#waiting.get(key);
    this.#waiting.delete(key);
    if (asked === undefined) throw this.#broken('agreement', `${request} of ${node.name} is answered twice`);
    const number = lease?.number ?? 0;
    for (const known of this.#heldLeases.get(asked.resource) ?? []) {
      if (known.grantedMs >= asked.sinceMs || known.held.number <= number || isOver(known)) continue;
      if (!known.node.holds(known.held)) continue;
      throw this.#broken(
        'agreement',
        `${node.name} is told of ${number} at most, while ${known.node.name} has had ${known.held.number} all the time`,
      );
    }
    if (lease?.state !== 'held') return;
    const told = this.#told.get(asked.resource) ?? [];
    const stillMatters = ({ lease: { untilMs } }: Told): boolean => this.#mayBeBefore(untilMs);
    this.#told.set(asked.resource, [...told.filter(stillMatters), { lease, by: node.name }]);
  }

  /** Whether some clock within the bound may still show no more than that. */
  #mayBeBefore(untilMs: number): boolean {
    return EPOCH_MS + this.#world.trueMs <= untilMs + this.#durations.clockSkewMs / 2 - ROUNDING_MS;
  }

  #isAsTold(node: FleaseNode, { resource, number }: HeldLease): void {
    for (const { lease, by } of this.#told.get(resource) ?? []) {
      if (lease.number >= number || !this.#mayBeBefore(lease.untilMs)) continue;
      if (lease.holder === node.name && lease.incarnation === node.incarnation) continue;
      if ((this.#letGo.get(incarnationKey(resource, lease)) ?? 0) >= lease.number) continue;
      throw this.#broken(
        'agreement',
        `${node.name} is granted ${number}, but ${by} was told that ${lease.holder} has ${lease.number} for longer`,
      );
    }
  }

  #letsGo(resource: string, lease: Pick<Lease, 'holder' | 'incarnation' | 'number'>): void {
    const key = incarnationKey(resource, lease);
    this.#letGo.set(key, Math.max(this.#letGo.get(key) ?? 0, lease.number));
  }

  #isAfterRecovery(node: FleaseNode, kind: string): void {
    const { leaseMs, clockSkewMs } = this.#durations;
    const recoveryMs = leaseMs + 2 * clockSkewMs;
    const forMs = node.groupMs - (this.#recoveringSince.get(node) ?? Number.NEGATIVE_INFINITY);
    if (forMs >= recoveryMs - READINGS_MS) return;
    throw this.#broken(
      'silent-after-restart',
      `${node.name} says ${kind} ${Math.round(forMs)} ms after it began, and not ${recoveryMs}`,
    );
  }

  /** A process that has run for a while has reported the end of every lease that is over. */
  #endsAreTold(): void {
    for (const heldLeases of this.#heldLeases.values()) {
      for (const known of heldLeases) {
        const { node, held } = known;
        if (isOver(known) || !node.process.running) continue;
        if (this.#world.trueMs - node.stoppedUntilMs < 2 * this.#latenessMs) continue;
        const timeMs = node.member?.timeAt(node.reading());
        if (timeMs === undefined || timeMs <= held.untilMs + this.#latenessMs) continue;
        throw this.#broken('told-of-the-end', `${held.number} of ${node.name} is over, and it was not told`);
      }
    }
    for (const known of this.#known.values()) {
      if (known.isEnded || !isItsIncarnation(known.node, known.incarnation)) this.#known.delete(known.held);
    }
  }

  #knownOf(held: HeldLease): Known {
    const known = this.#known.get(held);
    if (known === undefined) throw this.#broken('told-of-the-end', `${held.number} was never granted`);
    return known;
  }

  #broken(promise: PromiseName, detail: string): Error {
    return this.#world.broken(promise, detail);
  }
}

const isItsIncarnation = (node: FleaseNode, incarnation: number): boolean =>
  node.process.alive && node.process.incarnation === incarnation;

const isOver = ({ node, incarnation, held }: Known): boolean =>
  held.ended !== undefined || !isItsIncarnation(node, incarnation);

const keyOf = (node: FleaseNode, request: number): string =>
  `${node.name} ${node.process.incarnation} ${request}`;

const incarnationKey = (
  resource: string,
  { holder, incarnation }: Pick<Lease, 'holder' | 'incarnation'>,
): string => `${resource} ${holder} ${incarnation}`;

const describe = ({ resource, number, untilMs }: HeldLease): Record<string, string | number> => ({
  resource,
  number,
  until: Math.round(untilMs - EPOCH_MS),
});
