/** Managers as processes of their own that elect each other and keep nothing. */

import { afterEach, describe, expect, it } from 'vitest';
import { freePeers } from '../../../../leasehold/src/flease/shell/testing/groups.ts';
import type { StatusAnswer } from '../answers.ts';
import { run, type Started, start } from '../testing/started.ts';

const LONG_MS = 60_000;

interface Place {
  readonly http: string;
  readonly role: string;
  readonly name: string;
  readonly leader: { readonly name: string; readonly address: string | null } | null;
  readonly store: { readonly kind: string; readonly members: readonly string[]; readonly cluster: string };
}

interface Running extends Place {
  readonly process: Started;
}

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

async function manage(id: string, peers: string): Promise<Running> {
  const argv = ['--store', 'flease', '--name', id, '--peers', peers];
  const place = ['--listen', '127.0.0.1:0', '--http', '0', '--json'];
  const process = await start(['manager', 'start', ...argv, ...place]);
  open.push(process);
  return { process, ...(await process.json<Place>('saying where it listens', () => true)) };
}

async function manageThree(): Promise<readonly Running[]> {
  const peers = Object.entries(await freePeers('a', 'b', 'c')).map(([id, address]) => `${id}=${address}`);
  return await Promise.all(['a', 'b', 'c'].map((id) => manage(id, peers.join(','))));
}

describe('leasehold manager start --store flease', () => {
  it(
    'starts Managers of which one leads and all say who; another leads when that one steps down, and those who watch are told',
    async () => {
      const managers = await manageThree();
      const leader = managers.find(({ role }) => role === 'leading') as Running;
      const others = managers.filter((manager) => manager !== leader);
      expect(managers.map(({ role }) => role).sort()).toEqual(['leading', 'standby', 'standby']);
      expect(managers.map((manager) => manager.leader?.name)).toEqual(managers.map(() => leader.name));
      expect(leader.store).toMatchObject({ kind: 'flease', cluster: 'leasehold' });
      expect(leader.store.members).toHaveLength(3);

      const { stdout: status } = await run(['status', '--at', others[0]?.http ?? '']);
      expect(status).toMatch(new RegExp(`^ {2}leader {7}${leader.name}, in term \\d+$`, 'm'));
      expect(status).toMatch(new RegExp(`^${leader.name}=127.0.0.1:\\d+ +leads$`, 'm'));

      const watching = await start(['watch', '--at', others[0]?.http ?? '']);
      open.push(watching);
      await watching.until(
        'what it tells',
        () => watching.stderr.includes(`${leader.name} leads: watch`) || undefined,
      );
      expect(watching.stderr).toContain(
        `This Manager stands by and keeps nothing, so until it leads it reports only which Manager leads. As far as it knows, ${leader.name} leads: watch that one, with --at.\n`,
      );

      const { code, stdout } = await run(['manager', 'step-down', '--at', leader.http]);
      expect({ code, stdout }).toMatchObject({ code: 0 });
      const after = JSON.parse((await run(['status', '--json', '--at', leader.http])).stdout) as StatusAnswer;
      expect(after.role).toBe('standby');
      expect(others.map(({ name }) => name)).toContain(after.leader?.id);
      const told = await watching.until('who leads then', () => watching.lines[0]);
      expect(told).toMatch(new RegExp(`  Manager ${after.leader?.id} leads, term \\d+`));

      for (const { process } of managers) process.child.kill('SIGTERM');
      expect(await Promise.all(managers.map(({ process }) => process.ended))).toEqual([0, 0, 0]);
    },
    LONG_MS,
  );
});
