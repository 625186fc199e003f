/**
 * The same fault for Managers that keep their log among themselves: three Managers with a replica in each process, no other
 * server, and owners that renew. The leader is killed and started again, and every lease is watched.
 */

import { join } from 'node:path';
import { nowMs, pause } from '../processes/conversation.ts';
import type { Program } from '../processes/program.ts';
import { freePort, type Workshop } from '../processes/workshop.ts';
import type { ManagerConfig, ManagerView } from './manager-process.ts';
import type { OwnersConfig, OwnersTally } from './owners-process.ts';

const NAMES = ['a', 'b', 'c'] as const;
export const QUORUM_OWNERS = 20;
const KEYS: readonly string[] = Array.from({ length: 100 }, (_, index) => `key-${index}`);
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 20;

export interface QuorumFailover {
  /** From each kill to the first answer of another leader to an owner. */
  readonly newLeaderMs: readonly number[];
  /** Leases that were lost, doubled or changed. */
  readonly faults: readonly string[];
}

interface Manager {
  readonly config: ManagerConfig;
  program: Program;
}

export async function quorumFailover(
  workshop: Workshop,
  register: string,
  times: number,
): Promise<QuorumFailover> {
  const bundle = await workshop.bundle('failover/manager-process');
  const peers: Record<string, string> = {};
  for (const name of NAMES) peers[name] = `127.0.0.1:${await freePort()}`;
  const root = workshop.folder('quorum-failover');
  const start = (config: ManagerConfig): Program => workshop.start(`Manager ${config.name}`, bundle, config);
  const managers: Manager[] = [];
  for (const name of NAMES) {
    const quorum = { name, directory: join(root, name), peers };
    const config = { store: { quorum }, listen: `127.0.0.1:${await freePort()}`, name, firstStart: true };
    managers.push({ config, program: start(config) });
  }
  await Promise.all(managers.map(({ program }) => program.heard('ready')));
  const ownersConfig: OwnersConfig = {
    managers: managers.map(({ config: { listen = '' } }) => listen),
    ...{ pool: 'quorum', keys: KEYS, register },
    names: Array.from({ length: QUORUM_OWNERS }, (_, index) => `owner-${index}`),
  };
  const owners = workshop.start('owners', await workshop.bundle('failover/owners-process'), ownersConfig);
  await owners.heard('ready');
  await settled(owners);
  await owners.ask('watch', { free: [] });
  const newLeaderMs: number[] = [];
  for (let kill = 0; kill < times; kill += 1) {
    await pause(300 * Math.random());
    newLeaderMs.push(await killLeader(managers, start));
  }
  const { faults } = await owners.ask<OwnersTally>('tally');
  for (const program of [owners, ...managers.map(({ program: each }) => each)]) program.kill();
  return { newLeaderMs, faults };
}

/** Resolves when every key is held, and has been for two looks: nothing is on the move. */
async function settled(owners: Program): Promise<void> {
  let before = '';
  await until('every key has an owner', async () => {
    const { holdings } = await owners.ask<{ holdings: object }>('holdings');
    const now = JSON.stringify(holdings);
    const isSettled = now === before && KEYS.every((key) => key in holdings);
    before = now;
    await pause(500);
    return isSettled || undefined;
  });
}

async function killLeader(
  managers: readonly Manager[],
  start: (config: ManagerConfig) => Program,
): Promise<number> {
  const leader = await until('a Manager leads and has heard everybody', async () => {
    for (const manager of managers) {
      const { role, heard } = await manager.program.ask<ManagerView>('view');
      if (role === 'leading' && heard >= QUORUM_OWNERS) return manager;
    }
    return undefined;
  });
  const others = managers.filter((manager) => manager !== leader);
  const before = others.map(({ program }) => program.said.length);
  const atMs = nowMs();
  leader.program.kill();
  await leader.program.ended;
  leader.program = start(leader.config);
  const answeredMs = await until('another Manager answers', async () => {
    const said = others.flatMap(({ program }, index) => program.said.slice(before[index]));
    return said.find(({ event }) => event === 'answering')?.atMs;
  });
  await leader.program.heard('ready');
  return answeredMs - atMs;
}

async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  const endMs = nowMs() + PATIENCE_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (nowMs() > endMs) throw new Error(`${what}: not within ${PATIENCE_MS / 1_000} s`);
    await pause(LOOK_EVERY_MS);
  }
}
