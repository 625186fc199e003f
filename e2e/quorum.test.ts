import { describe, expect, it } from 'vitest';
import { QuorumGroup } from './harness/quorum-group.ts';
import { QuorumLoad, text } from './harness/quorum-load.ts';
import { onScene } from './harness/scene.ts';
import { nowMs, pause, until } from './harness/time.ts';

const NAMES = ['a', 'b', 'c'];
/** How long replicas are killed for. `QUORUM_KILL_MS=600000` for ten minutes. */
const KILL_MS = Number(process.env['QUORUM_KILL_MS'] ?? 20_000);
const LANES_PER_REPLICA = 3;
const TIMEOUT_MS = 20_000;

/** The goal for the writes that a dead holder delays, and a margin for a busy machine. */
const HOLDER_GONE_MS = 3_000;
const LATE_MS = 2_000;

describe('replicas that are killed at random under load', () => {
  it(
    'lose nothing that they acknowledged: the recorded history is linearizable',
    onScene(async (scene) => {
      const group = await QuorumGroup.running(scene, NAMES, { leaseMs: 1_000, electionMs: 500 });
      const load = new QuorumLoad();
      const lanes = NAMES.flatMap((name) =>
        Array.from({ length: LANES_PER_REPLICA }, (_, at) => load.lane(`${name}${at}`, group.client(name))),
      );
      const untilMs = nowMs() + KILL_MS;
      let kills = 0;
      while (nowMs() < untilMs) {
        const name = NAMES[Math.floor(Math.random() * NAMES.length)] as string;
        await group.kill(name);
        kills += 1;
        await pause(Math.random() * 1_000);
        await group.start(name).event('ready');
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
      expect(kills).toBeGreaterThan(KILL_MS / 10_000);
      expect(load.served['local'] ?? 0).toBeGreaterThan(0);
    }),
    KILL_MS + 120_000,
  );
});

describe('a holder that dies', () => {
  it(
    'delays the writes of its keys until its lease is over',
    onScene(async (scene) => {
      const group = await QuorumGroup.running(scene, NAMES);
      const leader = await group.leader();
      const holder = NAMES.find((name) => name !== leader) as string;
      const client = group.client(leader);
      await client.put('k', 'before');
      await until('the leader reads locally', async () =>
        (await client.get('k')).served === 'local' ? true : undefined,
      );
      const diedMs = nowMs();
      await group.kill(holder);
      const written = client.put('k', 'after', { timeoutMs: TIMEOUT_MS });
      await client.put('other', 'x', { timeoutMs: TIMEOUT_MS });
      await written;
      const tookMs = nowMs() - diedMs;
      console.log(`a write of a dead holder's key took ${Math.round(tookMs)} ms`);
      expect(tookMs).toBeLessThan(HOLDER_GONE_MS + LATE_MS);
      const againMs = nowMs();
      await client.put('k', 'again');
      expect(nowMs() - againMs).toBeLessThan(LATE_MS);
    }),
  );

  it(
    'delays only the writes of the keys that it held',
    onScene(async (scene) => {
      const group = await QuorumGroup.running(scene, NAMES, { readers: 'leader' });
      const leader = await group.leader();
      const other = NAMES.find((name) => name !== leader) as string;
      const client = group.client(leader);
      await client.put('k', 'before');
      await group.kill(other);
      const diedMs = nowMs();
      await client.put('k', 'after');
      expect(nowMs() - diedMs).toBeLessThan(LATE_MS);
    }),
  );
});

describe('a replica whose disk is damaged', () => {
  it(
    'does not start with lost votes, and joins anew with an empty directory',
    onScene(async (scene) => {
      const { rm } = await import('node:fs/promises');
      const group = await QuorumGroup.running(scene, NAMES, { leaseMs: 1_000, electionMs: 500 });
      const leader = await group.leader();
      const lost = NAMES.find((name) => name !== leader) as string;
      const client = group.client(leader);
      await client.put('k', 'v');
      await group.kill(lost);
      await rm(`${scene.path(lost)}/0000000000000001.journal`);
      expect(await group.start(lost).event('failed')).toMatchObject({ code: 'QUORUM_VOTES_LOST' });
      await rm(scene.path(lost), { recursive: true });
      const joined = group.start(lost, { join: true });
      await joined.event('listening');
      await client.add(lost, { timeoutMs: TIMEOUT_MS });
      await joined.event('ready');
      expect(text((await group.client(lost).get('k')).value)).toBe('v');
    }),
  );
});
