/** One world from a seed: three members that crash and restart in a network that loses and delays. */

import { Network } from '../../leasehold/src/sim/network.ts';
import { SimProcess } from '../../leasehold/src/sim/process.ts';
import { World } from '../../leasehold/src/sim/world.ts';
import type { Beat } from './core.ts';
import { Member } from './member.ts';

const NAMES = ['a', 'b', 'c'];
const [EVERY_MS, SILENT_AFTER_MS, LONGEST_DELAY_MS] = [100, 350, 50];

/** @returns how often a death was noticed. @throws {BrokenPromise} */
export function playWorld(seed: number): number {
  const world = new World({ seed });
  const network = new Network<Beat>(world, {
    faults: { lossChance: 0.1, duplicateChance: 0.1, delayMs: [1, LONGEST_DELAY_MS] },
  });
  const members = new Map<string, Member>();
  const diedAtMs = new Map<string, number>();
  const processes = NAMES.map((name) => {
    const peers = NAMES.filter((other) => other !== name);
    return new SimProcess(world, {
      name,
      start: (runtime) => {
        const options = { peers, everyMs: EVERY_MS, silentAfterMs: SILENT_AFTER_MS };
        const transport = runtime.transport(network);
        members.set(name, new Member(options, { runtime, transport, alarm: (wake) => runtime.alarm(wake) }));
      },
    });
  });
  for (const process of processes) process.start();
  world.every([500, 3_000], () => {
    const process = processes[Math.floor(world.random.next() * NAMES.length)];
    if (process === undefined) return;
    if (process.alive) {
      process.crash();
      diedAtMs.set(process.name, world.trueMs);
    } else {
      process.start();
      diedAtMs.delete(process.name);
    }
  });
  let noticed = 0;
  world.afterEach(() => {
    for (const observer of processes.filter(({ alive }) => alive)) {
      for (const [name, atMs] of diedAtMs) {
        const isLate = world.trueMs > atMs + LONGEST_DELAY_MS + SILENT_AFTER_MS;
        if (!isLate) continue;
        if (members.get(observer.name)?.alive().includes(name))
          throw world.broken('dead-are-noticed', `${observer.name} takes ${name} for alive`);
        noticed += 1;
      }
    }
  });
  world.run({ untilMs: 20_000 });
  return noticed;
}
