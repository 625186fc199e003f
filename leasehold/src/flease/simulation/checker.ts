/**
 * Watches from outside, where all clocks and all processes can be seen at one instant.
 *
 *  - **one-holder.** At no instant would two processes, paused ones among them, say that they hold a resource.
 *  - **numbers-grow.** Every grant of a resource has a greater number than any before, so a register that
 *    compares them never refuses whoever holds it.
 *  - **valid-when-returned.** What is granted is held at that instant.
 *  - **held-until-said.** What was granted until an instant is not lost to somebody else before it.
 *  - **agreement.** Who was told that p holds it until u is not contradicted: nobody else is granted it before
 *    p's clock must have passed u, unless p has let go of it. Who was told that nobody holds it, or that somebody
 *    held it under a lower number, asked no later than it was granted to whoever holds it.
 *  - **silent-after-restart.** Whoever has lost its memory promises, accepts and asks nothing for a lease and two
 *    skews.
 *  - **answered-once.** Nothing that was asked for once is granted twice.
 *  - **told-of-the-end.** Every tenure that is over is said to be so, once and soon; and that it is about to be,
 *    before, if its process ran. None that was over is renewed.
 *  - **progress**, **forgets.** See `calm.ts`.
 *  - **comes-to-an-end.** Time goes on: nobody is woken for ever without anything to do, which the world notices by the
 *    number of events (`sim/world.ts`).
 */

import type { World } from '../../sim/world.ts';
import type { Request } from '../claim.ts';
import type { Tenure } from '../tenure.ts';
import type { Lease } from '../lease.ts';
import type { MemberEvent } from '../member.ts';
import type { Packet } from '../messages.ts';
import type { ResolvedFleaseDurations } from '../options.ts';
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
  readonly life: number;
  readonly tenure: Tenure;
  readonly grantedMs: number;
  /** As it was last said. */
  untilMs: number;
  isNoticed: boolean;
  isEnded: boolean;
}

/** A request that has not been answered. */
export interface Waiting {
  readonly node: FleaseNode;
  readonly life: number;
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
  /** How late a process may be with what it has to say, if it runs. */
  readonly #latenessMs: number;
  readonly #tenures = new Map<string, Known[]>();
  readonly #known = new Map<Tenure, Known>();
  readonly #numbers = new Map<string, number>();
  readonly #fenced = new Map<string, number>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #cancelled = new Set<string>();
  readonly #told = new Map<string, Told[]>();
  /** The highest number of each resource that a life of a member has let go of. */
  readonly #letGo = new Map<string, number>();
  /** What the group's clock of each showed when it lost its memory. */
  readonly #silentSince = new Map<FleaseNode, number>();
  /** Told of every grant, for as long as somebody wants to know. */
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

  /** All who wait for an answer, of those who live. */
  waiting(): Waiting[] {
    return [...this.#waiting.values()].filter(({ node, life }) => isItsLife(node, life));
  }

  began(node: FleaseNode): void {
    this.happened('lives');
    this.#silentSince.set(node, node.groupMs);
    for (const [key, waiting] of this.#waiting) if (waiting.node === node) this.#waiting.delete(key);
  }

  requested(node: FleaseNode, resource: string, { kind, id }: Request): void {
    const { life } = node.process;
    const waiting: Waiting = { node, life, resource, kind, sinceMs: this.#world.trueMs, turns: new Map() };
    this.#waiting.set(keyOf(node, id), waiting);
    node.note(kind, { resource, id });
  }

  /** Nobody waits for it any more, and yet it may be answered in the same turn. */
  cancelled(node: FleaseNode, id: number): void {
    const key = keyOf(node, id);
    this.#waiting.delete(key);
    this.#cancelled.add(key);
  }

  sends(node: FleaseNode, packet: Packet): void {
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
      if (isWord) this.#isNotSilent(node, item.kind);
    }
  }

  tells(node: FleaseNode, event: MemberEvent): void {
    switch (event.kind) {
      case 'granted':
        this.#granted(node, event.request, event.tenure);
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
        this.#renewed(node, event.tenure);
        return;
      case 'ending':
        this.happened('ending');
        node.note('ending', describe(event.tenure));
        this.#knownOf(event.tenure).isNoticed = true;
        return;
      case 'ended':
        this.#ended(node, event.tenure);
        return;
      case 'left':
        this.happened(
          event.tenure.state === 'given-back' ? 'given back' : 'let go of, and not told to a majority',
        );
        node.note('left', describe(event.tenure));
        return;
      case 'silent':
        this.happened(`silent, ${event.why}`);
        node.note('silent', { why: event.why });
        if (event.why !== 'began') this.#silentSince.set(node, node.foundMs);
        return;
      case 'speaking':
        node.note('speaking', {});
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

  /** Something that was sent under this lease reaches the register that it is for. */
  fenced(node: FleaseNode, tenure: Tenure): void {
    const { resource, number } = tenure;
    const highest = this.#fenced.get(resource) ?? 0;
    if (number >= highest) {
      this.#fenced.set(resource, number);
      this.happened('fenced writes');
      return;
    }
    this.happened('fenced writes refused');
    if (node.holds(tenure)) {
      throw this.#broken('numbers-grow', `the register has refused ${number}, which ${node.name} holds`);
    }
  }

  #granted(node: FleaseNode, request: number, tenure: Tenure): void {
    const { resource, number } = tenure;
    this.happened('granted');
    node.note('granted', { id: request, ...describe(tenure) });
    const before = this.#numbers.get(resource) ?? 0;
    if (number <= before) {
      throw this.#broken('numbers-grow', `${node.name} is granted ${number} of ${resource} after ${before}`);
    }
    this.#numbers.set(resource, number);
    if (!node.holds(tenure)) {
      throw this.#broken('valid-when-returned', `${node.name} is granted ${number}, which is over`);
    }
    this.#isAsTold(node, tenure);
    const known: Known = {
      ...{ node, life: node.process.life, tenure, grantedMs: this.#world.trueMs },
      ...{ untilMs: tenure.untilMs, isNoticed: false, isEnded: false },
    };
    this.#known.set(tenure, known);
    const tenures = this.#tenures.get(resource) ?? [];
    this.#tenures.set(resource, [...tenures.filter((other) => !isOver(other)), known]);
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

  #renewed(node: FleaseNode, tenure: Tenure): void {
    const known = this.#knownOf(tenure);
    this.happened('renewed');
    node.note('renewed', describe(tenure));
    if (node.foundMs > known.untilMs) {
      throw this.#broken('told-of-the-end', `${tenure.number} of ${node.name} was over, and is renewed`);
    }
    known.isNoticed = false;
    known.untilMs = tenure.untilMs;
  }

  #ended(node: FleaseNode, tenure: Tenure): void {
    const known = this.#knownOf(tenure);
    const { ended, untilMs } = tenure;
    this.happened(`ended, ${ended}`);
    node.note('ended', { why: ended, ...describe(tenure) });
    if (known.isEnded || ended === undefined) {
      throw this.#broken(
        'told-of-the-end',
        `${tenure.number} of ${node.name} has ended twice, or not at all`,
      );
    }
    known.isEnded = true;
    const { resource, number } = tenure;
    if (ended === 'released') {
      this.#letsGo(resource, { holder: node.name, life: node.lifeNumber, number });
    }
    const { noticeMs } = this.#durations;
    const agoMs = this.#world.trueMs - node.stoppedUntilMs;
    if (ended === 'lapsed' && !known.isNoticed && agoMs > noticeMs + this.#latenessMs) {
      throw this.#broken('told-of-the-end', `${tenure.number} of ${node.name} has lapsed without notice`);
    }
    const timeMs = node.member?.timeAt(node.reading());
    if (ended === 'lost' && timeMs !== undefined && timeMs <= untilMs) {
      throw this.#broken('held-until-said', `${node.name} has lost ${tenure.number} before its end`);
    }
  }

  #oneHolder(): void {
    for (const [resource, tenures] of this.#tenures) {
      if (tenures.length < 2) continue;
      const holders = tenures.filter((known) => !isOver(known) && known.node.holds(known.tenure));
      if (holders.length < 2) {
        if (tenures.some(isOver))
          this.#tenures.set(
            resource,
            tenures.filter((known) => !isOver(known)),
          );
        continue;
      }
      const names = holders.map(({ node, tenure }) => `${node.name} (${tenure.number})`);
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
    for (const known of this.#tenures.get(asked.resource) ?? []) {
      if (known.grantedMs >= asked.sinceMs || known.tenure.number <= number || isOver(known)) continue;
      if (!known.node.holds(known.tenure)) continue;
      throw this.#broken(
        'agreement',
        `${node.name} is told of ${number} at most, while ${known.node.name} has had ${known.tenure.number} all the time`,
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

  #isAsTold(node: FleaseNode, { resource, number }: Tenure): void {
    for (const { lease, by } of this.#told.get(resource) ?? []) {
      if (lease.number >= number || !this.#mayBeBefore(lease.untilMs)) continue;
      if (lease.holder === node.name && lease.life === node.lifeNumber) continue;
      if ((this.#letGo.get(lifeKey(resource, lease)) ?? 0) >= lease.number) continue;
      throw this.#broken(
        'agreement',
        `${node.name} is granted ${number}, but ${by} was told that ${lease.holder} has ${lease.number} for longer`,
      );
    }
  }

  #letsGo(resource: string, lease: Pick<Lease, 'holder' | 'life' | 'number'>): void {
    const key = lifeKey(resource, lease);
    this.#letGo.set(key, Math.max(this.#letGo.get(key) ?? 0, lease.number));
  }

  #isNotSilent(node: FleaseNode, kind: string): void {
    const { leaseMs, clockSkewMs } = this.#durations;
    const recoveryMs = leaseMs + 2 * clockSkewMs;
    const forMs = node.groupMs - (this.#silentSince.get(node) ?? Number.NEGATIVE_INFINITY);
    if (forMs >= recoveryMs - READINGS_MS) return;
    throw this.#broken(
      'silent-after-restart',
      `${node.name} says ${kind} ${Math.round(forMs)} ms after it began, and not ${recoveryMs}`,
    );
  }

  /** Whoever has run for a while has said of everything that is over that it is. */
  #endsAreTold(): void {
    for (const tenures of this.#tenures.values()) {
      for (const known of tenures) {
        const { node, tenure } = known;
        if (isOver(known) || !node.process.running) continue;
        if (this.#world.trueMs - node.stoppedUntilMs < 2 * this.#latenessMs) continue;
        const timeMs = node.member?.timeAt(node.reading());
        if (timeMs === undefined || timeMs <= tenure.untilMs + this.#latenessMs) continue;
        throw this.#broken(
          'told-of-the-end',
          `${tenure.number} of ${node.name} is over, and it was not told`,
        );
      }
    }
    for (const known of this.#known.values()) {
      if (known.isEnded || !isItsLife(known.node, known.life)) this.#known.delete(known.tenure);
    }
  }

  #knownOf(tenure: Tenure): Known {
    const known = this.#known.get(tenure);
    if (known === undefined) throw this.#broken('told-of-the-end', `${tenure.number} was never granted`);
    return known;
  }

  #broken(promise: PromiseName, detail: string): Error {
    return this.#world.broken(promise, detail);
  }
}

const isItsLife = (node: FleaseNode, life: number): boolean =>
  node.process.alive && node.process.life === life;

const isOver = ({ node, life, tenure }: Known): boolean =>
  tenure.ended !== undefined || !isItsLife(node, life);

const keyOf = (node: FleaseNode, request: number): string => `${node.name} ${node.process.life} ${request}`;

const lifeKey = (resource: string, { holder, life }: Pick<Lease, 'holder' | 'life'>): string =>
  `${resource} ${holder} ${life}`;

const describe = ({ resource, number, untilMs }: Tenure): Record<string, string | number> => ({
  resource,
  number,
  until: Math.round(untilMs - EPOCH_MS),
});
