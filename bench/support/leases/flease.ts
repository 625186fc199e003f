/**
 * Ours: a group of three, each member a process. There is no server: the process that asks is a member, and the work of the two
 * others is what it asks them.
 */

import { lastingPort } from '../../../leasehold/src/node/testing/lasting-port.ts';
import type { Program } from '../processes/program.ts';
import type { Workshop } from '../processes/workshop.ts';
import type { MemberConfig } from './flease-process.ts';
import type { LeasePeer, PeerKind } from './peer.ts';

export const OURS = 'Flease';
const MEMBERS = ['a', 'b', 'c'] as const;
/** Long enough that nothing is renewed while a batch is measured. */
const LEASE_MS = 14_000;
const CLOCK_SKEW_MS = 1_000;

export const flease: PeerKind = {
  name: OURS,
  missing: () => undefined,
  start,
};

async function start(workshop: Workshop): Promise<LeasePeer> {
  const group = await FleaseGroup.open(workshop, { leaseMs: LEASE_MS, clockSkewMs: CLOCK_SKEW_MS });
  const [client, ...others] = group.members as [Program, ...Program[]];
  return {
    name: OURS,
    setting: `a group of ${group.members.length}, leases of ${LEASE_MS} ms, clocks within ${CLOCK_SKEW_MS} ms; the process that asks is one of the three, and is counted as the client`,
    client,
    servers: others.map(({ pid }) => pid),
    close: () => group.close(),
  };
}

export interface FleaseTimes {
  readonly leaseMs: number;
  readonly clockSkewMs: number;
}

export class FleaseGroup {
  readonly #workshop: Workshop;
  readonly #bundle: string;
  readonly #configs: readonly MemberConfig[];
  readonly #members: Program[];

  private constructor(workshop: Workshop, bundle: string, configs: readonly MemberConfig[]) {
    this.#workshop = workshop;
    this.#bundle = bundle;
    this.#configs = configs;
    this.#members = configs.map((config) => this.#start(config));
  }

  /** Resolves when all may take part. */
  static async open(workshop: Workshop, times: FleaseTimes): Promise<FleaseGroup> {
    const addresses: [string, string][] = [];
    for (const id of MEMBERS) addresses.push([id, `127.0.0.1:${await lastingPort()}`]);
    const peers = Object.fromEntries(addresses);
    const bundle = await workshop.bundle('leases/flease-process');
    const group = new FleaseGroup(
      workshop,
      bundle,
      MEMBERS.map((name) => ({ name, peers, ...times })),
    );
    for (const member of group.members) await member.heard('ready');
    return group;
  }

  get members(): readonly Program[] {
    return this.#members;
  }

  /** That one of them; they are counted on in a circle. */
  member(index: number): Program {
    return this.#members[index % this.#members.length] as Program;
  }

  /** Starts one that was killed, and resolves when it may take part again. */
  async restart(index: number): Promise<void> {
    const at = index % this.#members.length;
    const member = this.#start(this.#configs[at] as MemberConfig);
    this.#members[at] = member;
    await member.heard('ready');
  }

  async close(): Promise<void> {
    for (const member of this.#members) member.kill();
    await Promise.all(this.#members.map(({ ended }) => ended));
  }

  #start(config: MemberConfig): Program {
    return this.#workshop.start(`member ${config.name}`, this.#bundle, config);
  }
}
