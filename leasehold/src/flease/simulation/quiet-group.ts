/** A group in which nothing happens but what a test has happen: for faults with names. */

import type { LinkFaults } from '../../sim/network.ts';
import type { Tenure } from '../tenure.ts';
import type { MemberEvent } from '../member.ts';
import { resolveFleaseDurations } from '../options.ts';
import { FleaseWorld } from './flease-world.ts';
import type { FleaseNode } from './node.ts';

export interface QuietGroupOptions {
  readonly members?: number;
  readonly leaseMs?: number;
  readonly clockSkewMs?: number;
  readonly deviationsMs?: Readonly<Record<string, number>>;
  readonly comparesClocks?: boolean;
  readonly links?: Partial<LinkFaults>;
  /** With so many attempts under way a member asks no more others than it has to; never, if nothing is said. */
  readonly busyFrom?: number;
}

export class QuietGroup {
  readonly flease: FleaseWorld;

  /** All have been silent for as long as they had to. */
  constructor(options: QuietGroupOptions = {}) {
    const { members = 3, leaseMs = 1_000, clockSkewMs = 50, links = { delayMs: [1, 1] } } = options;
    const durations = resolveFleaseDurations({ leaseMs, clockSkewMs });
    this.flease = new FleaseWorld({
      ...{ seed: 1, trace: false, comparesClocks: options.comparesClocks ?? true },
      deviationsMs: options.deviationsMs ?? {},
      drawn: {
        ...{ members, durations, resources: ['job'], callersEach: 0, links, calmLinks: links },
        ...{ lateMs: 0, turnMs: 0, idleMs: 0, holdMs: [0], operatorMs: 1, troubleMs: [1, 1], chaosMs: 0 },
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

  /** Asks for it. What it is told comes to stand in the list, and what it is granted in `tenure`. */
  acquire(name: string, kind: 'acquire' | 'try' | 'ask' = 'acquire'): Asked {
    const asked: Asked = { id: 0, events: [], tenure: undefined };
    asked.id = this.node(name).request(kind, 'job', (event) => {
      asked.events.push(event);
      if (event.kind === 'granted') asked.tenure = event.tenure;
    });
    return asked;
  }
}

export interface Asked {
  id: number;
  readonly events: MemberEvent[];
  tenure: Tenure | undefined;
}
