/** A group without faults, and without clients, to which one thing happens that has a name. The checker watches as in all worlds. */

import { assert } from '../../../runtime/assert.ts';
import { resolveDurations } from '../../core/durations.ts';
import type { DrawnWorld } from '../drawn-world.ts';
import { GroupWorld } from '../group-world.ts';
import type { Server } from '../server.ts';

const EVENTS_MAX = 50_000_000;

/** Servers `s1`, `s2` … that act in one view. */
export function quietGroup(size: number, changes: Partial<DrawnWorld> = {}): GroupWorld {
  const group = startedGroup(size, changes);
  assert(viewsOf(group).join() === [...group.drawn.names].sort().join(' '), 'a quiet group is in one view');
  assert(
    standingsOf(group).every((standing) => standing === 'acts'),
    'a quiet group acts',
  );
  return group;
}

/** Servers that have had the time to find each other. */
export function startedGroup(size: number, changes: Partial<DrawnWorld> = {}): GroupWorld {
  const names = Array.from({ length: size }, (_, index) => `s${index + 1}`);
  const group = new GroupWorld(1, false, {
    kind: 'mixed',
    names,
    durations: resolveDurations(),
    links: { delayMs: [1, 10] },
    rates: names.map(() => 1),
    lateMs: 0,
    faults: 0,
    chaosMs: 0,
    ...changes,
  });
  group.start();
  run(group, 5_000);
  return group;
}

export const run = ({ world }: GroupWorld, ms: number): void =>
  world.run({ untilMs: world.trueMs + ms, maxEvents: EVENTS_MAX });

export const viewOf = ({ member }: Server): string =>
  member?.view?.members.map(({ name }) => name).join(' ') ?? 'none';

const alive = ({ servers }: GroupWorld): Server[] => servers.filter(({ process }) => process.alive);

/** The different views that live servers are in. */
export const viewsOf = (group: GroupWorld): string[] => [...new Set(alive(group).map(viewOf))].sort();

export const standingsOf = (group: GroupWorld): string[] => alive(group).map((server) => server.standing());

export const allAct = (group: GroupWorld): boolean =>
  standingsOf(group).every((standing) => standing === 'acts');

export function serverAt({ servers }: GroupWorld, index: number): Server {
  const server = servers[index];
  assert(server !== undefined, `there is no server ${index}`);
  return server;
}

export const viewsDelivered = ({ world }: GroupWorld): number => world.counts.get('views') ?? 0;

/** Runs until a condition holds, and says how long that took. */
export function msUntil(group: GroupWorld, holds: () => boolean, limitMs = 20_000): number {
  const { world } = group;
  const startMs = world.trueMs;
  while (!holds() && world.trueMs - startMs < limitMs) run(group, 5);
  return world.trueMs - startMs;
}
