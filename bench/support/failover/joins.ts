/**
 * What it costs that one more owner joins a pool of a hundred: how long until its first keys come and until its
 * last, and how often something was written for it. The others give back some of what they have, each when it next
 * reports or is told to, so it takes several writes, and the time is theirs more than the store's.
 */

import type { Program } from '../processes/program.ts';
import { pause } from '../processes/conversation.ts';
import type { Workshop } from '../processes/workshop.ts';
import type { JoinerConfig, Joining } from './joiner-process.ts';
import type { ManagerConfig, ManagerView } from './manager-process.ts';
import type { OwnersConfig } from './owners-process.ts';

export interface Join extends Joining {
  /** Revisions of etcd, or batches in a file. */
  readonly writes: number;
  /** In the same time, when nobody joined. */
  readonly idleWrites: number;
}

export interface JoinDependencies extends JoinerConfig {
  /** How often something was written so far. */
  written(): Promise<number>;
  /** Resolves when it is as before. */
  settled(): Promise<void>;
}

/** As long as a join is watched. */
const IDLE_MS = 3_000;

export async function joins(
  workshop: Workshop,
  { managers, pool, written, settled }: JoinDependencies,
  times: number,
): Promise<readonly Join[]> {
  const config: JoinerConfig = { managers, pool };
  const joiner: Program = workshop.start(
    'a joiner',
    await workshop.bundle('failover/joiner-process'),
    config,
  );
  await joiner.heard('ready');
  const all: Join[] = [];
  for (let time = 0; time < times; time += 1) {
    await settled();
    const idleBefore = await written();
    await pause(IDLE_MS);
    const before = await written();
    const joining = await joiner.ask<Joining>('join');
    all.push({ ...joining, writes: (await written()) - before, idleWrites: before - idleBefore });
    await joiner.ask('leave');
  }
  await settled();
  joiner.kill();
  await joiner.ended;
  return all;
}

const FILE_POOL = 'on-a-file';

/** The same on one Manager that has a file for itself. */
export async function joinsOnFile(
  workshop: Workshop,
  { owners, register, times }: { readonly owners: number; readonly register: string; readonly times: number },
): Promise<readonly Join[]> {
  const config: ManagerConfig = {
    store: { directory: workshop.folder('manager-on-a-file') },
    listen: '127.0.0.1:0',
    firstStart: true,
  };
  const manager = workshop.start(
    'the Manager on a file',
    await workshop.bundle('failover/manager-process'),
    config,
  );
  const managers = [String((await manager.heard('ready'))['address'])];
  const names = Array.from({ length: owners }, (_, index) => `owner-${index}`);
  const pool: OwnersConfig = { managers, pool: FILE_POOL, names, keys: [], register };
  const fleet = workshop.start('owners on a file', await workshop.bundle('failover/owners-process'), pool);
  await fleet.heard('ready');
  const view = (): Promise<ManagerView> => manager.ask<ManagerView>('view');
  const found = await joins(
    workshop,
    {
      ...{ managers, pool: FILE_POOL },
      written: async () => (await view()).commits,
      settled: async () => {
        let before = -1;
        for (let { commits, members } = await view(); ; { commits, members } = await view()) {
          if (members === owners && commits === before) return;
          before = commits;
          await pause(IDLE_MS);
        }
      },
    },
    times,
  );
  for (const program of [fleet, manager]) program.kill();
  await Promise.all([fleet.ended, manager.ended]);
  return found;
}
