/**
 * What must happen once nothing goes wrong any more.
 *
 *     faults end ├─ a leader, all changes done ─┤ clients rest ├─ all is answered ─┤ holders may read ├─ one dies, the rest goes on ─┤
 */

import type { Random } from '../../sim/random.ts';
import { bit, holdersOf, memberOf } from '../core/configuration.ts';
import { holdFor } from '../core/leases.ts';
import { LONGEST_LEASE_MS } from './drawn-world.ts';
import type { QuorumWorld } from './quorum-world.ts';

export function seeCalm(quorum: QuorumWorld, random: Random): void {
  const { world, replicas, calls, drawn, operator } = quorum;
  replicas.heal();
  replicas.setFaults(drawn.calmLinks);
  calls.setFaults(drawn.calmLinks);
  for (const { process, disk } of quorum.nodes) {
    process.resume();
    disk.stuckUntilMs = 0;
  }
  const { leaseMs, electionMs } = drawn.durations;
  const longestHoldMs = holdFor(LONGEST_LEASE_MS);
  const boundMs = 40 * electionMs + 4 * longestHoldMs + 3 * leaseMs;
  const until = (what: string, isDone: () => boolean): void => {
    const endMs = world.trueMs + boundMs;
    while (!isDone()) {
      if (world.trueMs > endMs) throw world.broken('progress', `after ${Math.round(boundMs)} ms: ${what}`);
      world.run({ untilMs: world.trueMs + 20 });
      operator.startAll();
    }
  };
  until(
    'there is no leader, or the operator waits for a change',
    () => (operator.leader?.replica?.view.log.chosen ?? 0) > 0 && !operator.isChanging,
  );
  for (const client of quorum.clients) client.rest();
  until('a client waits', () => quorum.clients.every(({ isBusy }) => !isBusy));
  until(`a holder may not read: ${whoMayNotRead(quorum)}`, () => whoMayNotRead(quorum) === undefined);
  if (random.chance(0.4)) loseOne(quorum, random, until);
  until('a replica lags', () => isLevel(quorum));
  quorum.checker.checkStates(operator.members);
  quorum.checker.checkHistory();
}

/** One member dies for good; everything that is begun then ends all the same. */
function loseOne(
  quorum: QuorumWorld,
  random: Random,
  until: (what: string, isDone: () => boolean) => void,
): void {
  const { operator, clients, world } = quorum;
  const { members } = operator;
  if (members.length < 3) return;
  const victim = random.pick(members);
  victim.crash();
  victim.isLost = true;
  world.count('members lost in the calm');
  for (const client of clients) client.wakeUp();
  world.run({ untilMs: world.trueMs + 300 });
  for (const client of clients) client.rest();
  until(`a client waits after the death of ${victim.storage}`, () => clients.every(({ isBusy }) => !isBusy));
  until('the dead member is not replaced', () => !operator.isChanging && !operator.members.includes(victim));
}

/** A member that holds a key in the newest configuration and would not answer at once; undefined if there is none. */
function whoMayNotRead({ operator, drawn }: QuorumWorld): string | undefined {
  for (const node of operator.members) {
    const { replica } = node;
    if (replica === undefined) return node.storage;
    const { newestConfiguration } = replica.view.log;
    const seat = memberOf(newestConfiguration, node.storage)?.seat;
    if (seat === undefined) return node.storage;
    const held = drawn.keys.filter((key) => (holdersOf(newestConfiguration, key) & bit(seat)) !== 0);
    if (!replica.isLeased(held, node.now())) return node.storage;
  }
  return undefined;
}

function isLevel({ operator }: QuorumWorld): boolean {
  const applied = operator.members.map(({ replica }) => replica?.view.machine.applied);
  return applied.every((each) => each !== undefined && each === applied[0]);
}
