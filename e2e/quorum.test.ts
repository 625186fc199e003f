import { describe, expect, inject, it } from 'vitest';
import { QuorumCell } from './harness/quorum-cell.ts';
import { QuorumLoad, text } from './harness/quorum-load.ts';
import { onScene } from './harness/scene.ts';
import { nowMs, pause, until } from './harness/time.ts';
import { Stopwatch } from '../leasehold/src/node/testing/undisturbed-time.ts';

const NAMES = ['a', 'b', 'c'];
/** How long replicas are killed for. In 20 s a replica is killed some ten times, the leader among them: the history must be linearizable as in ten minutes. */
const KILL_MS = inject('long') ? 600_000 : 20_000;
/** However slow the machine is: fewer would show little. */
const LEAST_KILLS = KILL_MS / 5_000;
const LANES_PER_REPLICA = 3;
const TIMEOUT_MS = 20_000;

/** The goal for the writes that a dead holder delays, and a margin for a busy machine. */
const HOLDER_GONE_MS = 3_000;
const LATE_MS = 2_000;

describe('replicas that are killed at random under load', () => {
  it(
    'lose nothing that they acknowledged: the recorded history is linearizable',
    onScene(async (scene) => {
      const cell = await QuorumCell.running(scene, NAMES, { leaseMs: 1_000, electionMs: 500 });
      const load = new QuorumLoad();
      const lanes = NAMES.flatMap((name) =>
        Array.from({ length: LANES_PER_REPLICA }, (_, at) => load.lane(`${name}${at}`, cell.client(name))),
      );
      const untilMs = nowMs() + KILL_MS;
      let kills = 0;
      while (nowMs() < untilMs || kills < LEAST_KILLS) {
        const name = NAMES[Math.floor(Math.random() * NAMES.length)] as string;
        await cell.kill(name);
        kills += 1;
        await pause(Math.random() * 1_000);
        await cell.start(name).event('ready');
        const before = load.done;
        await until('calls are answered again', () => (load.done > before + 20 ? true : undefined));
        await pause(Math.random() * 1_000);
      }
      load.isOver = true;
      await Promise.all(lanes);
      expect(load.verdict()).toEqual({ ok: true });
      console.log(
        `${kills} kills, ${load.done} calls answered, reads served: ${JSON.stringify(load.served)}`,
      );
      expect(load.served['local'] ?? 0).toBeGreaterThan(0);
    }),
  );
});

describe('a holder that dies', () => {
  it(
    'delays the writes of its keys until its lease is over',
    onScene(async (scene) => {
      const cell = await QuorumCell.running(scene, NAMES);
      const leader = await cell.leader();
      const holder = NAMES.find((name) => name !== leader) as string;
      const client = await cell.client(leader);
      await client.put('k', 'before');
      await until('the leader reads locally', async () =>
        (await client.get('k')).served === 'local' ? true : undefined,
      );
      const sinceDeath = new Stopwatch();
      await cell.kill(holder);
      const written = client.put('k', 'after', { timeoutMs: TIMEOUT_MS });
      await client.put('other', 'x', { timeoutMs: TIMEOUT_MS });
      await written;
      const tookMs = sinceDeath.ms;
      console.log(`a write of a dead holder's key took ${Math.round(tookMs)} ms`);
      expect(tookMs).toBeLessThan(HOLDER_GONE_MS + LATE_MS);
      const again = new Stopwatch();
      await client.put('k', 'again');
      expect(again.ms).toBeLessThan(LATE_MS);
    }),
  );

  it(
    'delays only the writes of the keys that it held',
    onScene(async (scene) => {
      const cell = await QuorumCell.running(scene, NAMES, { readers: 'leader' });
      const leader = await cell.leader();
      const other = NAMES.find((name) => name !== leader) as string;
      const client = await cell.client(leader);
      await client.put('k', 'before');
      await cell.kill(other);
      const sinceDeath = new Stopwatch();
      await client.put('k', 'after');
      expect(sinceDeath.ms).toBeLessThan(LATE_MS);
    }),
  );
});

describe('a replica whose disk is damaged', () => {
  it(
    'does not start with lost votes, and joins anew with an empty directory',
    onScene(async (scene) => {
      const { rm } = await import('node:fs/promises');
      const cell = await QuorumCell.running(scene, NAMES, { leaseMs: 1_000, electionMs: 500 });
      const leader = await cell.leader();
      const lost = NAMES.find((name) => name !== leader) as string;
      const client = await cell.client(leader);
      await client.put('k', 'v');
      await cell.kill(lost);
      await rm(`${scene.path(lost)}/0000000000000001.journal`);
      expect(await cell.start(lost).event('failed')).toMatchObject({ code: 'DATA_LOST' });
      await rm(scene.path(lost), { recursive: true });
      const joined = cell.start(lost, { newcomer: true });
      await joined.event('listening');
      await client.addReplica(lost, { timeoutMs: TIMEOUT_MS });
      await joined.event('ready');
      expect(text((await (await cell.client(lost)).get('k')).value)).toBe('v');
    }),
  );
});
