/** For tests only: groups in one process, over real sockets on loopback, with short leases. */

import { lastingAddresses } from '../../../node/testing/lasting-port.ts';
import { silent } from '../../../runtime/logger.ts';
import type { FleaseMember } from '../flease-member.ts';
import { type JoinFleaseOptions, joinFlease } from '../join-flease.ts';

/** Short, but not so short that a busy machine takes leases away. */
export const LEASE_MS = 1_000;
export const SKEW_MS = 50;

/** Addresses on which nobody listens, for these members. */
export const freePeers = (...members: string[]): Promise<Record<string, string>> =>
  lastingAddresses(...members);

export const join = (
  name: string,
  peers: Record<string, string>,
  options: Partial<JoinFleaseOptions> = {},
): Promise<FleaseMember> =>
  joinFlease({ name, peers, leaseMs: LEASE_MS, clockSkewMs: SKEW_MS, logger: silent, ...options });

/** A group of these members, of which the first `alive` are started and take part. */
export class TestGroup implements AsyncDisposable {
  readonly members: readonly FleaseMember[];
  readonly peers: Record<string, string>;

  private constructor(members: readonly FleaseMember[], peers: Record<string, string>) {
    this.members = members;
    this.peers = peers;
  }

  static async start(
    names: readonly string[] = ['a', 'b', 'c'],
    options: Partial<JoinFleaseOptions> = {},
    alive: number = names.length,
  ): Promise<TestGroup> {
    return TestGroup.with(names.slice(0, alive), await freePeers(...names), options);
  }

  /** These of the members at these addresses, once they take part. */
  static async with(
    names: readonly string[],
    peers: Record<string, string>,
    options: Partial<JoinFleaseOptions> = {},
  ): Promise<TestGroup> {
    const members = await Promise.all(names.map((name) => join(name, peers, options)));
    await Promise.all(members.map((member) => member.ready()));
    return new TestGroup(members, peers);
  }

  of(name: string): FleaseMember {
    const found = this.members.find((member) => member.name === name);
    if (found === undefined) throw new Error(`${name} was not started`);
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
  }
}
