/**
 * A group in which nothing happens except by a test: for faults with names.
 */

import type { LinkFaults } from '../../sim/network.ts';
import type { HeldLease } from '../core/held-lease.ts';
import type { MemberEvent } from '../core/member.ts';
import { resolveFleaseDurations } from '../core/options.ts';
import { FleaseWorld } from './flease-world.ts';
import type { FleaseNode } from './node.ts';

export interface QuietGroupOptions {
  readonly members?: number;
  readonly leaseMs?: number;
  readonly clockSkewMs?: number;
  /** As for Managers that elect each other. */
  readonly takeoverMs?: number;
  readonly deviationsMs?: Readonly<Record<string, number>>;
  readonly comparesClocks?: boolean;
  readonly links?: Partial<LinkFaults>;
  /** From this many attempts under way, a member asks only a majority; never, by default. */
  readonly busyFrom?: number;
}

export class QuietGroup {
  readonly flease: FleaseWorld;

  /** All members have recovered. */
  constructor(options: QuietGroupOptions = {}) {
    const { members = 3, leaseMs = 1_000, clockSkewMs = 50, links = { delayMs: [1, 1] } } = options;
    const durations = resolveFleaseDurations({ leaseMs, clockSkewMs }, options.takeoverMs);
    this.flease = new FleaseWorld({
      ...{ seed: 1, trace: false, comparesClocks: options.comparesClocks ?? true },
      deviationsMs: options.deviationsMs ?? {},
      drawn: {
        ...{ members, durations, resources: ['job'], callersEach: 0, links, calmLinks: links },
        ...{ lateMs: 0, turnMs: 0, idleMs: 0, holdMs: [0], operatorMs: 1, troubleMs: [1, 1], chaosMs: 0 },
        ...{ troubleKinds: undefined, wrongClocksMost: 1, bulkResources: [] },
        busyFrom: options.busyFrom ?? Number.POSITIVE_INFINITY,
      },
    });
    this.flease.operator.startAll();
    this.pass(durations.recoveryMs + 10);
  }

  pass(ms: number): void {
    const { world } = this.flease;
    world.run({ untilMs: world.trueMs + ms });
  }

  node(name: string): FleaseNode {
    const node = this.flease.nodes.find((one) => one.name === name);
    if (node === undefined) throw new Error(`there is no ${name}`);
    return node;
  }

  /** Makes a request. Events are collected in `events`, and a granted lease in `held`. */
  acquire(name: string, kind: 'acquire' | 'try' | 'ask' = 'acquire'): Asked {
    const asked: Asked = { id: 0, events: [], held: undefined };
    asked.id = this.node(name).request(kind, 'job', (event) => {
      asked.events.push(event);
      if (event.kind === 'granted') asked.held = event.held;
    });
    return asked;
  }
}

export interface Asked {
  id: number;
  readonly events: MemberEvent[];
  held: HeldLease | undefined;
}
