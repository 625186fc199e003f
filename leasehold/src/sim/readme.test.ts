import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { later } from '../runtime/time.ts';
import { Network } from './network.ts';
import { SimProcess } from './process.ts';
import { World } from './world.ts';

/** The example of the README, to the letter, but for its imports. */
function example(): World {
  const world = new World({ seed: 7, trace: true });
  const network = new Network<'ping' | 'pong'>(world, { faults: { lossChance: 0.1 } });

  const server = new SimProcess(world, {
    name: 'server',
    start: (runtime) => {
      const transport = runtime.transport(network);
      transport.listen((from) => transport.send(from, 'pong'));
    },
  });
  let silentSince = 0;
  const client = new SimProcess(world, {
    name: 'client',
    start: (runtime) => {
      const transport = runtime.transport(network);
      transport.listen(() => void (silentSince = world.trueMs));
      const alarm = runtime.alarm(() => ask());
      const ask = (): void => {
        transport.send('server', 'ping');
        alarm.set(later(runtime.now(), 100));
      };
      ask();
    },
  });
  server.start();
  client.start();
  world.every([5_000, 10_000], () => server.crash());
  world.every([500, 1_000], () => server.alive || server.start());
  world.afterEach(() => {
    if (world.trueMs > silentSince + 2_000) throw world.broken('answers-soon', `not since ${silentSince}`);
  });
  world.run({ untilMs: 600_000 });
  return world;
}

describe('the example in the README', () => {
  it('is the one that runs here, and it keeps its promise', () => {
    const readme = readFileSync(new URL('./README.md', import.meta.url), 'utf8');
    const here = readFileSync(new URL('./readme.test.ts', import.meta.url), 'utf8');
    const body = here.slice(here.indexOf('  const world'), here.indexOf('  return world'));
    expect(readme).toContain(body.replaceAll(/^ {2}/gm, '').trim());
    const world = example();
    expect(world.events).toBeGreaterThan(10_000);
    expect(world.story().filter((line) => line.includes('crashed')).length).toBeGreaterThan(50);
  });
});
