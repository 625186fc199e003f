import { describe, expect, it } from 'vitest';
import { FleaseGroup, KEY, MEMBERS, OTHER_KEY, TIMES } from './harness/flease-group.ts';
import { Network } from './harness/network.ts';
import type { Program } from './harness/program.ts';
import { onScene } from './harness/scene.ts';
import { until } from './harness/time.ts';
import { Stopwatch } from '../leasehold/src/node/testing/undisturbed-time.ts';
import { falseClock, setOffset } from './harness/tools.ts';

/** What a busy machine may be late by. */
const LATE_MS = 1_500;

const connected = async (member: Program): Promise<boolean> => {
  const { peers } = await member.ask('status');
  return (peers as readonly { connected: boolean; problem?: string; trouble?: object }[]).every(
    (peer) => peer.connected && peer.problem === undefined && peer.trouble === undefined,
  );
};

describe('a holder that is killed', () => {
  it(
    'is followed by another when its lease has run out, with a higher number',
    onScene(async (scene) => {
      const group = await FleaseGroup.running(scene);
      const { member, number } = await group.holder();
      const sinceKill = new Stopwatch();
      member.signal('SIGKILL');
      const next = await group.holder(member);
      expect(sinceKill.ms).toBeLessThan(TIMES.leaseMs + TIMES.clockSkewMs + LATE_MS);
      expect(next.number).toBeGreaterThan(number);
    }),
  );
});

describe('a holder that is stopped for longer than its lease', () => {
  it(
    'finds at its first look that it has lost it, and what it writes all the same is refused',
    onScene(async (scene) => {
      const group = await FleaseGroup.running(scene);
      const { member, number } = await group.holder();
      member.signal('SIGSTOP');
      const [look, write] = member.askAtOnce(['look', { key: KEY }], ['write', { key: KEY, number }]);
      const next = await group.holder(member);
      member.signal('SIGCONT');
      expect((await look)?.reply).toMatchObject({ number, isHeld: false, isAborted: true });
      expect((await write)?.reply).toMatchObject({ isAccepted: false });
      expect(next.number).toBeGreaterThan(number);
      await member.event(({ event, code }) => event === 'aborted' && code === 'LEASE_LOST');
    }),
  );
});

describe('a network that is cut', () => {
  it(
    'takes the lease from a holder that is alone, gives it to the majority, and heals',
    onScene(
      async (scene) => {
        const network = await Network.open(scene, ...MEMBERS);
        const group = await FleaseGroup.running(scene, network);
        const { member, number } = await group.holder();
        const others = group.others(member);
        for (const other of others) await network.part(member.name, other.name);
        const aborted = await member.event('aborted');
        const next = await group.holder(member);
        expect(next.number).toBeGreaterThan(number);
        expect(scene.observer.holders(KEY)).toEqual([next.member.name]);
        const acquired = await next.member.event(
          ({ event, number: its }) => event === 'acquired' && its === next.number,
        );
        expect(aborted.atMs).toBeLessThan(acquired.atMs);

        for (const { name } of group.members) await network.heal(name);
        await until('all are connected again', async () =>
          (await Promise.all(group.members.map(connected))).every((isSo) => isSo) ? true : undefined,
        );
        expect(await member.ask('acquire', { key: OTHER_KEY, timeoutMs: 10_000 })).toHaveProperty('number');
        await next.member.ask('release', { key: KEY });
        await until('it goes round', () =>
          (group.terms.at(-1)?.['number'] as number) > next.number ? true : undefined,
        );
      },
      { needs: ['network namespaces'] },
    ),
  );

  it(
    'ends the command of a `leasehold flease hold` that is alone, and the others can have the lease',
    onScene(
      async (scene) => {
        const network = await Network.open(scene, ...MEMBERS);
        const group = await FleaseGroup.open(scene, { network });
        const [a, b] = await Promise.all(['a', 'b'].map((name) => group.start(name, { keys: [] })));
        const peers = Object.entries(group.peers).map((pair) => pair.join('='));
        const script = `echo '{"event":"runs"}'; while :; do sleep 0.05; done`;
        const times = [
          '--lease',
          `${TIMES.leaseMs}ms`,
          '--clock-skew',
          `${TIMES.clockSkewMs}ms`,
          '--insecure',
        ];
        const who = ['--name', 'c', '--peers', peers.join(), ...times];
        const holding = scene.start({
          ...{ name: 'c', program: 'cli', under: network.on('c') },
          config: { argv: ['flease', 'hold', KEY, ...who, '--', 'sh', '-c', script] },
        });
        await holding.event('runs');
        for (const other of ['a', 'b']) await network.part('c', other);
        const [{ code }, reply] = await Promise.all([
          holding.ended,
          a?.ask('acquire', { key: KEY, timeoutMs: 20_000 }),
        ]);
        expect(code).toBe(76);
        expect(reply).toHaveProperty('number');
        expect(b?.ending).toBeUndefined();
      },
      { needs: ['network namespaces'] },
    ),
  );
});

describe('clocks', () => {
  it(
    'that differ by less than was said: one holder at a time, and the lease goes round',
    onScene(
      async (scene) => {
        const group = await FleaseGroup.open(scene);
        for (const [at, offset] of ['+0.05', '+0', '-0.05'].entries()) {
          const file = scene.path(`offset-${at}`);
          setOffset(file, offset);
          await group.start(MEMBERS[at] ?? '', { environment: falseClock({ file, wallOnly: true }) });
        }
        for (let turns = 0; turns < 4; turns += 1) await group.passOn();
        const numbers = group.terms.map(({ number }) => number);
        expect(new Set(numbers).size).toBe(numbers.length);
        for (const { events } of group.members) {
          expect(events.filter(({ message }) => /its clock is|is off from/.test(String(message)))).toEqual(
            [],
          );
        }
      },
      { needs: ['faketime'] },
    ),
  );

  it(
    'of which one is off by more: that member steps back and says so, and the others refuse it by name',
    onScene(
      async (scene) => {
        const group = await FleaseGroup.open(scene);
        const file = scene.path('offset');
        setOffset(file, '+0.7');
        const c = await group.start('c', { environment: falseClock({ file, wallOnly: true }) });
        const [a] = await Promise.all([group.start('a'), group.start('b')]);
        await a.logged('trouble with member c: its clock is ahead of ours by at least');
        await c.logged('recovers: its clock is off from those of most other members');
        await group.holder(c);
        const { error } = await c.ask('acquire', { key: OTHER_KEY, timeoutMs: 100 });
        expect(error).toMatchObject({ code: 'NO_MAJORITY' });
        expect(error?.message).toContain('its clock is off from those of most other members');
        expect(c.events.filter(({ event }) => event === 'acquired')).toEqual([]);

        setOffset(file, '+0');
        await c.logged('ready: this member', { called: 'that it is ready' });
        expect(await c.ask('acquire', { key: OTHER_KEY, timeoutMs: 10_000 })).toHaveProperty('number');
      },
      { needs: ['faketime'] },
    ),
  );

  it(
    'of which the holder’s is set while it runs: the lease is lost at once, and another has it later',
    onScene(
      async (scene) => {
        const group = await FleaseGroup.open(scene);
        const file = scene.path('offset');
        setOffset(file, '+0');
        const c = await group.start('c', { environment: falseClock({ file, wallOnly: true }) });
        await Promise.all([group.start('a', { keys: [] }), group.start('b', { keys: [] })]);
        const { number } = await group.holder();
        const before = c.events.length;
        setOffset(file, '-0.7');
        await c.event('aborted', { after: before });
        await c.logged('its wall clock jumped', { after: before });
        const reply = await group.of('a').ask('acquire', { key: KEY, timeoutMs: 10_000 });
        expect(reply['number']).toBeGreaterThan(number);
      },
      { needs: ['faketime'] },
    ),
  );
});

describe('members that are restarted one after the other', () => {
  it(
    'until nobody is left who was there at first: numbers have only grown, also of what nobody remembers',
    onScene(async (scene) => {
      const group = await FleaseGroup.running(scene);
      const numbers = [(await group.holder()).number];
      const once = await group.of('a').ask('acquire', { key: OTHER_KEY });
      await group.of('a').ask('release', { key: OTHER_KEY });
      for (const name of MEMBERS) {
        await group.of(name).kill();
        await (await group.start(name)).ask('ready');
        numbers.push((await group.holder()).number, (await group.passOn()).number);
      }
      expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
      expect(new Set(numbers).size).toBeGreaterThan(MEMBERS.length);
      const again = await group.of('b').ask('acquire', { key: OTHER_KEY });
      expect(again['number']).toBeGreaterThan(once['number'] as number);
    }),
  );
});
