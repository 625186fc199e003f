/**
 * Managers as processes of their own on a real etcd: one is killed, one steps down, one finds a log of another
 * cluster.
 */

import type { ChildProcess } from 'node:child_process';
import { joinPool, type PoolOwner, silent } from 'leasehold/pool';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LONG_MS, type Scene, sharedEtcd } from '../../../../leasehold/src/etcd/testing/on-etcd.ts';
import type { StatusAnswer } from '../answers.ts';
import { run, type Started, start } from '../testing/started.ts';

const SOMEBODY = { user: 'somebody', password: 's3cret' };
const onEtcd = sharedEtcd();
const onLocked = sharedEtcd({ members: 1 }, (cluster) =>
  cluster.enableAuth(SOMEBODY.user, SOMEBODY.password, 'test-'),
);

const storeOn = ({ cluster, prefix }: Pick<Scene, 'cluster' | 'prefix'>, user = ''): string =>
  `etcd://${user}${cluster.endpoints.map((endpoint) => new URL(endpoint).host).join(',')}/${prefix}`;

interface Place {
  readonly address: string;
  readonly http: string;
  readonly role: string;
  readonly leader: { readonly name: string; readonly address: string } | null;
}

interface Running extends Place {
  readonly id: string;
  readonly process: Started;
}

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const PORTS = ['--listen', '127.0.0.1:0', '--http', '0', '--json'];

async function manage(store: string, id: string, ...argv: string[]): Promise<Running> {
  const options = { environment: { LEASEHOLD_STORE: store } };
  const process = await start(['manager', 'start', '--name', id, ...PORTS, ...argv], options);
  open.push(process);
  return { id, process, ...(await process.json<Place>('saying where it listens', () => true)) };
}

async function manageThree(store: string): Promise<readonly [Running, Running, Running]> {
  const first = await manage(store, 'm1');
  // The Manager has begun a log, and writes the leader there after waiting for leases of an earlier log.
  await eventually(async () => (await statusOf(first)).leader !== null);
  return [first, await manage(store, 'm2'), await manage(store, 'm3')];
}

async function join(managers: readonly Running[], name: string): Promise<PoolOwner> {
  const addresses = managers.map(({ address }) => address);
  const owner = await joinPool({
    ...{ managers: addresses, pool: 'presence', name, url: `http://${name}`, logger: silent },
  });
  open.push(owner);
  return owner;
}

const statusOf = async ({ http }: Running): Promise<StatusAnswer> =>
  JSON.parse((await run(['status', '--json', '--at', http])).stdout);

/** Becomes so, however busy the machine is. */
const eventually = (isSo: () => boolean | Promise<boolean>): Promise<unknown> =>
  vi.waitUntil(isSo, { timeout: 30_000, interval: 100 });

const isOver = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

describe('three Managers on a real etcd', { timeout: 2 * LONG_MS }, () => {
  it(
    'go on when the leader is killed: another takes over, and an owner keeps its lease',
    onEtcd(async (scene) => {
      const managers = await manageThree(storeOn(scene));
      const [leader, ...others] = managers;
      expect(managers.map(({ role }) => role)).toEqual(['leading', 'standby', 'standby']);
      expect(others.map((other) => other.leader)).toEqual(
        others.map(() => ({ name: 'm1', address: leader.address })),
      );
      const owner = await join(managers, 'ada');
      const number = await owner.whenOwned('alice');

      expect(await leader.process.stop('SIGKILL')).toBe('SIGKILL');
      const led = async (): Promise<StatusAnswer | undefined> =>
        (await Promise.all(others.map(statusOf))).find(({ role }) => role === 'leading');
      await eventually(async () => (await led()) !== undefined);
      expect(owner.isHeld('alice', number)).toBe(true);
      await eventually(async () => (await led())?.owners === 1);
      const { stdout } = await run(['pool', 'find', 'presence', 'alice', '--json', '--at', others[0].http]);
      expect(JSON.parse(stdout).keys[0]).toMatchObject({ owner: { name: 'ada' }, number });

      const text = (await run(['status', '--at', others[0].http])).stdout;
      expect(text).toMatch(/leader +(?:this one|m\d at 127\.0\.0\.1:\d+), in term \d+/);
      expect(text).toMatch(/\nETCD +ROLE +VERSION/);
      // The list still has the killed Manager, and says that this Manager does not answer.
      const line = text.split('\n').find((each) => each.startsWith('m1 '));
      if (line !== undefined) expect(line).toContain('nothing listens there');
      expect(owner.isHeld('alice', number)).toBe(true);
    }),
  );

  it(
    'hand over when one is told to step down, and end properly one after the other',
    onEtcd(async (scene) => {
      const managers = await manageThree(storeOn(scene));
      const owner = await join(managers, 'ada');
      const number = await owner.whenOwned('alice');
      await eventually(async () => (await statusOf(managers[2])).managers.length === 3);
      const { code, stdout } = await run(['manager', 'step-down', '--at', managers[2].http]);
      expect(code).toBe(0);
      expect(stdout).toMatch(
        new RegExp(
          `^The Manager at ${managers[0].http} has stepped down; m[23] at .* leads, in term \\d+\\.\n$`,
        ),
      );
      expect(owner.isHeld('alice', number)).toBe(true);

      const nothing = await run(['manager', 'step-down', '--no-follow', '--at', managers[0].http]);
      expect(nothing).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing was done') });

      expect(await managers[1].process.stop()).toBe(0);
      expect(await managers[2].process.stop()).toBe(0);
      await eventually(async () => (await statusOf(managers[0])).role === 'leading');
      expect(owner.isHeld('alice', number)).toBe(true);
      await owner.close();
      expect(await managers[0].process.stop('SIGINT')).toBe(0);
      // On a busy machine a member of etcd may be late; but no connection to etcd is closed for that.
      for (const { process } of managers) expect(process.stderr).not.toMatch(/"level":"error"|hang up/);
    }),
  );

  it(
    'are told to stop before the counters are raised; then everything goes on above',
    onEtcd(async (scene) => {
      const store = storeOn(scene);
      const before = await manage(store, 'm1');
      const recover = (...argv: string[]) =>
        run(['manager', 'recover', '--yes', ...argv], { environment: { LEASEHOLD_STORE: store } });
      const early = await recover('--json');
      expect([early.code, JSON.parse(early.stderr)]).toMatchObject([1, { error: { code: 'LEADER_ALIVE' } }]);
      await before.process.stop();
      const { code, stdout } = await recover();
      expect(code).toBe(0);
      expect(stdout).toContain('look-ups report everything as lost');
      expect(stdout).toContain('Done: history ');
      const after = await manage(store, 'm1');
      expect(after.role).toBe('leading');
      expect((await statusOf(after)).term).toBeGreaterThan(2 ** 40);
    }),
  );
});

describe('a Manager on a real etcd', { timeout: LONG_MS }, () => {
  const REFUSED = ['manager', 'start', '--listen', '127.0.0.1:0', '--no-http'];

  it(
    'does not touch what is another’s, and says whose it is',
    onEtcd(async (scene) => {
      const store = storeOn(scene);
      await manage(store, 'm1', '--cluster', 'blue');
      const other = await run([...REFUSED, '--store', store, '--cluster', 'green']);
      expect(other.code).toBe(1);
      expect(other.stderr).toMatch(/says that this is the log of "blue".*\(PREFIX_IN_USE\)/);
    }),
  );

  it(
    'ends at once with a wrong password, and repeats none',
    onLocked(async (scene) => {
      const wrong = storeOn(scene, `${SOMEBODY.user}:not-the-s3cret@`);
      for (const json of [[], ['--json']]) {
        const { code, stdout, stderr } = await run([...REFUSED, ...json], {
          environment: { LEASEHOLD_STORE: wrong },
        });
        expect(code).toBe(1);
        expect(stderr).toContain('ETCD_UNAVAILABLE');
        expect(stderr).toContain('Check user, password and certificates');
        expect(stdout + stderr).not.toContain('s3cret');
        if (json.length > 0) for (const line of stderr.trim().split('\n')) JSON.parse(line);
      }
      const right = await manage(storeOn(scene, `${SOMEBODY.user}:${SOMEBODY.password}@`), 'm1');
      expect(right.role).toBe('leading');
      expect((await statusOf(right)).store.members).toMatchObject([{ isReachable: true }]);
      expect(right.process.stdout + right.process.stderr).not.toContain('s3cret');
    }),
  );
});

describe('a Manager whose etcd is not there', { timeout: LONG_MS }, () => {
  it('says at once where it looks, that it waits, and ends when it is told to', async () => {
    const manager = await start([
      'manager',
      'start',
      '--store',
      'etcd://127.0.0.1:1/p',
      '--listen',
      '127.0.0.1:0',
      '--no-http',
    ]);
    open.push(manager);
    await manager.until('waiting', () => manager.stderr.includes('waits for etcd') || undefined);
    expect(manager.stdout).toContain('Its log is in etcd at 127.0.0.1:1, under p/.');
    expect(manager.stderr).toMatch(/"givesUpInSeconds":5\d/);
    expect(isOver(manager.child)).toBe(false);
    expect(await manager.stop('SIGINT')).toBe(0);
    expect(manager.stdout).toContain('Not started: it was interrupted.');
  });

  it(
    'is up as soon as etcd is',
    onEtcd(async (scene) => {
      const { members } = scene.cluster;
      await Promise.all(members.map((member) => member.kill()));
      const process = await start(['manager', 'start', '--store', storeOn(scene), ...PORTS]);
      open.push(process);
      await process.until('waiting', () => process.stderr.includes('waits for etcd') || undefined);
      await Promise.all(members.map((member) => member.start()));
      expect((await process.json<Place>('saying where it listens', () => true)).role).toBe('leading');
    }),
  );
});
