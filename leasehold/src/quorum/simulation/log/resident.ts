/** The fenced log in the process of a simulated replica: the port of real processes, with answers that get lost. */

import type { Instant } from '../../../runtime/time.ts';
import type { SimRuntime } from '../../../sim/process.ts';
import type { Random } from '../../../sim/random.ts';
import type { Answer } from '../../core/answer.ts';
import type { Effect } from '../../core/context.ts';
import type { Revision } from '../../core/operation.ts';
import { leadsWithout } from '../../fenced-log/leads-without.ts';
import type { ClaimEvents, LogPort, WatchEvents } from '../../fenced-log/port.ts';
import { ChangeHistory } from '../../shell/change-history.ts';
import type { ReplicaNode, Resident } from '../node.ts';

export interface ResidentOptions {
  readonly node: ReplicaNode;
  readonly runtime: SimRuntime;
  readonly random: Random;
  /** How often an answer to a write is lost, and the replica seems not to be ready. */
  readonly lossChance: number;
  /** How often a candidate stands although the rule forbids it: safety must not rest on the rule. */
  readonly rashChance: number;
  shown(slot: number, effect: Extract<Effect, { readonly do: 'show' }>): void;
}

export class LogResident implements Resident, LogPort {
  readonly storage: string;
  /** The true time of each read, by the clock of the process. */
  readonly readAtMs: Map<Instant, number> = new Map<Instant, number>();
  readonly #options: ResidentOptions;
  readonly #history: ChangeHistory;
  #watch: { readonly prefix: string; readonly events: WatchEvents } | undefined;
  #claim: { readonly revision: Revision; readonly events: ClaimEvents } | undefined;

  constructor(options: ResidentOptions) {
    this.#options = options;
    this.storage = options.node.storage;
    this.#history = new ChangeHistory(options.node.replica?.view.log.base ?? 0, {
      changed: ({ slot, found }) => {
        const { prefix = '', events } = this.#watch ?? {};
        const own = found.filter(({ key }) => key.startsWith(prefix));
        events?.changed(own, slot);
      },
      skipped: (slot) => this.#whole(slot),
    });
  }

  happened(effect: Parameters<Resident['happened']>[0]): void {
    switch (effect.do) {
      case 'show':
        this.#options.shown(effect.slot, effect);
        this.#history.show(effect.slot, effect.operation, effect.results);
        return;
      case 'installed':
        this.#history.installed(effect.slot);
        return;
      case 'claim-extended':
        if (effect.revision === this.#claim?.revision) this.#claim.events.extended(effect.until);
        return;
      case 'claim-ended':
        if (effect.revision === this.#claim?.revision) this.#claim.events.ended(effect.why);
        return;
    }
  }

  submit(submission: Parameters<LogPort['submit']>[0], answered: (answer: Answer) => void): void {
    const { node, random, lossChance, runtime } = this.#options;
    const isLost = random.chance(lossChance);
    const id = node.await((answer) => {
      if (runtime.alive && !isLost) answered(answer);
    });
    node.perform((replica, now) => replica.submit(id, submission, now));
    if (random.chance(lossChance / 4)) this.#expire(submission.session);
    if (isLost) answered({ kind: 'refused', why: 'not-ready' });
  }

  read(key: string, answered: (answer: Answer) => void): void {
    const { node } = this.#options;
    this.readAtMs.set(this.#now, node.world.trueMs);
    const id = node.await(answered);
    node.perform((replica, now) => replica.read(id, [key], 'best', now));
  }

  watch(prefix: string, events: WatchEvents): Disposable {
    this.#watch = { prefix, events };
    this.#whole(this.#history.position);
    return {
      [Symbol.dispose]: () => {
        this.#watch = undefined;
      },
    };
  }

  claim(key: string, revision: Revision, events: ClaimEvents): Disposable {
    const { node } = this.#options;
    this.#claim = { revision, events };
    node.perform((replica, now) => replica.claim({ key, revision }, now));
    return {
      [Symbol.dispose]: () => {
        if (this.#claim?.revision !== revision) return;
        this.#claim = undefined;
        node.perform((replica, now) => replica.claim(undefined, now));
      },
    };
  }

  mayStand(key: string, against: string | undefined): boolean {
    const { node, random, rashChance } = this.#options;
    const { replica } = node;
    if (replica?.isLeased([key], this.#now) !== true) return false;
    return against === undefined || random.chance(rashChance) || leadsWithout(replica, against, this.#now);
  }

  /** As the leader of the cell does with sessions that it has not heard of for long. */
  #expire(session: Revision): void {
    const { node } = this.#options;
    const submission = { session: 0, number: 0, answeredBelow: 0 };
    const id = node.await(() => {});
    node.perform((replica, now) =>
      replica.submit(id, { ...submission, command: { kind: 'expire-session', session } }, now),
    );
  }

  get #now(): Instant {
    return this.#options.runtime.now();
  }

  #whole(slot: number): void {
    const machine = this.#options.node.replica?.view.machine;
    const watch = this.#watch;
    if (machine === undefined || watch === undefined) return;
    const found = machine.snapshotAt(slot).values.filter(({ key }) => key.startsWith(watch.prefix));
    watch.events.whole(found, slot);
  }
}
