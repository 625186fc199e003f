import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { OwnerAnswer, PoolAnswer, StatusAnswer } from './answers.ts';
import { leaderHint, managerLines, poolLines, statusLines, storeLines } from './commands/status.ts';
import { askManagers } from './other-managers.ts';
import { recordedContext } from './testing/recorded-context.ts';

const STATUS: StatusAnswer = {
  ...{
    module: 'manager',
    instance: 'memory',
    id: 'm1',
    version: '0.1.0',
    role: 'leading',
    haltedBecause: null,
    isReady: true,
    whyNotReady: null,
  },
  ...{
    history: 'h',
    term: 7,
    position: 12,
    leadsForMs: 1_500,
    waitsMs: null,
    isWriting: false,
    startedAtMs: 0,
  },
  ...{ uptimeSeconds: 75, createPools: 'on-first-use', pools: 1, owners: 2, lookups: 3, rows: 4 },
  ...{
    connections: 5,
    limited: [],
    leader: { id: 'm1', address: '10.0.0.1:7400' },
    behind: null,
    latestEventId: 'e-1',
  },
  managers: [],
  store: { kind: 'etcd', where: 'prod/', bytes: null, members: [], group: null, replica: null },
};

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A Manager's HTTP API that says this of itself; undefined: it says nothing. */
async function serve(status: Partial<StatusAnswer> | undefined): Promise<string> {
  const server = createServer((_, response) => {
    if (status === undefined) return;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ version: STATUS.version, handles: [{ ...STATUS, ...status }] }));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Where nobody listens: somebody just did, and does no more. */
async function nobody(): Promise<string> {
  const url = await serve(undefined);
  await new Promise((resolve) => servers.pop()?.close(resolve));
  return url;
}

const place = (id: string, http: string | null, isSelf = false): StatusAnswer['managers'][number] => ({
  ...{ id, address: `${id}:7400`, http, isLeader: id === 'm1', isSelf },
});

describe('the Managers that share a store', () => {
  it('are each asked, and what cannot be known is said', async () => {
    const managers = [
      place('m1', 'http://10.0.0.1:7401', true),
      place('m2', await serve({ id: 'm2', role: 'standby', behind: 3, uptimeSeconds: 10 })),
      place('m3', await nobody()),
      place('m4', null),
      place('m5', await serve({ id: 'm2' })),
      place('m6', await serve(undefined)),
    ];
    const asked = await askManagers(recordedContext(), { ...STATUS, managers });
    expect(asked.map(({ id, role, behind, problem }) => [id, role, behind, problem])).toEqual([
      ['m1', 'leading', null, null],
      ['m2', 'standby', 3, null],
      ['m3', null, null, 'nothing listens there'],
      ['m4', null, null, 'its HTTP API cannot be reached from elsewhere'],
      ['m5', null, null, 'another Manager answers there, m2'],
      ['m6', null, null, 'nothing came in time'],
    ]);
    const lines = managerLines({ ...STATUS, managers }, asked);
    expect(lines[2]).toMatch(/^m1 \(this one\) +leading +- +1 min 15 s +0\.1\.0 +m1:7400 +http:/);
    expect(lines[3]).toMatch(/^m2 +standby +3 +10 s /);
    expect(lines[4]).toMatch(/^m3 +not known .* nothing listens there$/);
  });
});

describe('the status of a Manager', () => {
  const leaderLine = (status: Partial<StatusAnswer>): string | undefined =>
    statusLines({ ...STATUS, ...status }).find((line) => line.startsWith('  leader'));
  const groupLine = (status: StatusAnswer): string | undefined =>
    statusLines(status).find((line) => line.startsWith('  group'));
  const m2 = { id: 'm2', address: '10.0.0.2:7400' };

  it.each([
    [{}, 'this one, in term 7'],
    [
      { role: 'standby', leader: m2, behind: 0 },
      'm2 at 10.0.0.2:7400, in term 7; this one has all of its log',
    ],
    [
      { role: 'standby', leader: m2, behind: 1 },
      'm2 at 10.0.0.2:7400, in term 7; this one is 1 commit behind',
    ],
    [
      { role: 'standby', leader: m2, behind: 0, whyNotReady: 'the log is gone' },
      'm2 at 10.0.0.2:7400, in term 7, when this one last read the log',
    ],
    [{ role: 'standby', leader: { id: 'm2', address: null } }, 'm2, in term 7'],
    [{ role: 'standby', leader: null }, 'none, as far as this Manager knows'],
    [{ role: 'standby' }, 'none, as far as this Manager knows'],
  ] as const)('says who leads: %j', (status, words) => {
    expect(leaderLine(status)).toBe(`  leader       ${words}`);
  });

  it('has not a word of others for one that has a directory of its own', () => {
    const alone = { ...STATUS, store: { ...STATUS.store, kind: 'file' } } as const;
    expect(leaderLine(alone)).toBeUndefined();
    expect([...managerLines(alone, []), ...storeLines(alone)]).toEqual([]);
  });

  it('has what the members of etcd say of themselves', () => {
    const member = {
      isReachable: true,
      isLeader: true,
      isSelf: false,
      complaint: null,
      version: '3.5.9',
      databaseBytes: 2e6,
    };
    const away = {
      isReachable: false,
      isLeader: false,
      isSelf: false,
      complaint: 'no answer',
      version: null,
      databaseBytes: null,
    };
    const members = [
      { endpoint: 'http://e1:2379', ...member },
      { endpoint: 'http://e2:2379', ...member, isLeader: false, complaint: 'NOSPACE' },
      { endpoint: 'http://e3:2379', ...away },
    ];
    const [, head, ...lines] = storeLines({ ...STATUS, store: { ...STATUS.store, members } });
    expect(head).toMatch(/^ETCD +ROLE +VERSION +DATABASE/);
    expect(lines.map((line) => line.replace(/ {2,}/g, '|'))).toEqual([
      'http://e1:2379|leads|3.5.9|2.0 MB',
      'http://e2:2379|follows|3.5.9|2.0 MB|NOSPACE',
      'http://e3:2379|no answer|-|-|no answer',
    ]);
  });

  it('has who elects, of Managers that keep nothing, and who leads', () => {
    const unknown = { isSelf: false, complaint: null, version: null, databaseBytes: null };
    const members = [
      { endpoint: 'a=h1:7500', isReachable: true, isLeader: false, ...unknown, isSelf: true },
      { endpoint: 'b=h2:7500', isReachable: true, isLeader: true, ...unknown },
      { endpoint: 'c=h3:7500', isReachable: false, isLeader: false, ...unknown, complaint: 'clock off' },
    ];
    const group = { view: 2, isSettled: false, recovery: null };
    const where = 'default, manager/c';
    const store = { kind: 'flease', where, bytes: null, members, group, replica: null } as const;
    const status: StatusAnswer = {
      ...STATUS,
      role: 'standby',
      ...{ term: 9, position: null, pools: null, owners: null, rows: null },
      store,
      leader: { id: 'b', address: null },
    };
    expect(leaderLine(status)).toBe('  leader       b, in term 9');
    expect(leaderLine({ ...status, term: null })).toBe('  leader       b');
    expect(groupLine(status)).toBe(
      '  group        view 2, not settled yet: members of the one before are still needed; this one is ready',
    );
    const silent = { ...group, isSettled: true, recovery: 'recovers for 2 s: it was started' };
    expect(groupLine({ ...status, store: { ...store, group: silent } })).toBe(
      '  group        view 2, settled; this one recovers for 2 s: it was started',
    );
    expect(groupLine(STATUS)).toBeUndefined();
    expect(statusLines(status).slice(3)).toEqual([
      '  log          position not known here; kept nowhere, gone with its leader (default, manager/c)',
      '  pools        not known here, made on first use',
      '  members      owners not known here, 3 look-ups at this Manager',
      '  ranges       not known here',
      '  connections  5',
    ]);
    const [, head, ...lines] = storeLines(status);
    expect(head).toMatch(/^ELECTOR +ROLE/);
    expect(lines.map((line) => line.replace(/ {2,}/g, '|'))).toEqual([
      'a=h1:7500|stands by',
      'b=h2:7500|leads',
      'c=h3:7500|not connected|clock off',
    ]);
    expect(managerLines(status, [])).toEqual([]);
  });

  it.each([
    ['knows who leads', 'standby', 'b', 'a stands by, b leads, c stands by'],
    ['does not know who leads', 'standby', undefined, 'a stands by, b not known, c not known'],
    ['leads', 'leading', 'a', 'a leads, b stands by, c stands by'],
    ['leads, and knew of another until now', 'leading', 'b', 'a leads, b stands by, c stands by'],
    ['led until now', 'standby', 'a', 'a stands by, b not known, c not known'],
  ] as const)(
    'has the role of each that elects, whatever this one calls itself besides, if it %s',
    (_, role, elected, words) => {
      const members = ['a', 'b', 'c'].map((name) => ({
        ...{ endpoint: `${name}=h:7500`, isReachable: true, isLeader: name === elected },
        ...{ isSelf: name === 'a', complaint: null, version: null, databaseBytes: null },
      }));
      const store = { ...STATUS.store, kind: 'flease', members } as const;
      const lines = storeLines({ ...STATUS, id: 'node-a', role, store }).slice(2);
      expect(lines.map((line) => line.replace(/=h:7500 +/, ' ')).join(', ')).toBe(words);
    },
  );
});

describe('the status of a pool', () => {
  const durations = { leaseMs: 9_000, renewEveryMs: 1_500, holdMs: 9_700 } as PoolAnswer['durations'];
  const POOL: PoolAnswer = {
    ...{ name: 'presence', isDeclared: false, policy: 'consistent-hashing', owners: 1, lookups: 0, rows: 64 },
    ...{
      unownedPercent: 0,
      misplacedPercent: null,
      changedAt: 9,
      lastLostAt: 0,
      virtualNodes: 64,
      durations,
    },
    bounds: { clockRate: 0.001, lossToldWithinMs: 12_000, takeoverHoldMs: 14_000 },
  };
  const OWNER: OwnerAnswer = {
    ...{ incarnation: 'a.1', name: 'a', url: 'http://a', isMember: true, isLeaving: false, isProvable: true },
    ...{ joinedAt: 8, ranges: 64, sharePercent: 100, wantedPercent: null, recalledRanges: 0 },
    ...{ recalledPercent: 0, heardAgoMs: null, keptForMs: null, load: null },
    ...{ intent: null, order: null, movesOut: null, movesIn: null },
  };
  const m2 = { id: 'm2', address: '10.0.0.2:7400' };
  const managers = [place('m1', null, true), place('m2', 'http://10.0.0.2:7401')];
  const standby: StatusAnswer = { ...STATUS, role: 'standby', leader: m2, managers };

  it('has of the owners what a standby knows, and who knows more', () => {
    const lines = poolLines(standby, POOL, [OWNER], 0);
    expect(lines[0]).toBe('Pool presence: 1 owner, 0 look-ups at this Manager, 64 ranges');
    expect(lines.slice(-2).map((line) => line.replace(/ {2,}/g, '|'))).toEqual([
      'OWNER|SHARE|RANGES|PROOF|URL',
      'a|100 %|64|yes|http://a',
    ]);
    expect(leaderHint(standby)).toEqual([
      '',
      'This Manager does not lead, and hears no owners. The leader knows more of them; as far as this Manager knows, that is m2: --at http://10.0.0.2:7401',
    ]);
  });

  it('has of orders what a standby reads in the log', () => {
    const owner = { ...OWNER, order: 'emptying' as const };
    expect(poolLines(standby, POOL, [owner], 0).at(-1)).toMatch(/^a \(handing all over\) /);
  });

  it.each([
    [{ intent: 'draining' }, /^a \(draining\) /],
    [{ intent: 'emptying', order: 'emptying' }, /^a \(handing all over\) /],
    [{ intent: 'cordoned' }, /^a \(cordoned\) /],
    [{ intent: 'stay' }, /^a +100 % +64 +- +- /],
    [{ intent: 'stay', movesOut: 2, movesIn: 1 }, /^a +100 % +64 +- +2 out, 1 in /],
    [{ isLeaving: true, intent: 'draining' }, /^a \(leaving\) /],
  ] as const)('says what an owner does with its keys, and what moves: %j', (parts, words) => {
    const owner = { ...OWNER, movesOut: 0, movesIn: 0, ...parts };
    expect(poolLines(STATUS, POOL, [owner], 0).at(-1)).toMatch(words);
  });

  it('has points only where keys are placed by them', () => {
    expect(poolLines(STATUS, POOL, [], 0)[1]).toMatch(/ consistent-hashing, 64 points an owner$/);
    expect(poolLines(STATUS, { ...POOL, policy: 'sticky' }, [], 0)[1]).toMatch(/ sticky$/);
  });

  it('does not say that there are no owners if a standby knows of none', () => {
    expect(poolLines(standby, POOL, [], 0)).toContain('This Manager knows of no owners.');
    expect(leaderHint({ ...standby, managers: [] })[1]).toMatch(/that is m2: ask it, with --at$/);
    expect(leaderHint({ ...standby, leader: null })[1]).toMatch(
      /this Manager does not know which one leads\.$/,
    );
  });

  it('is whole if the Manager leads', () => {
    expect(poolLines(STATUS, POOL, [], 0)).toContain('There are no owners.');
    expect(poolLines(STATUS, POOL, [OWNER], 0).at(-2)).toMatch(/^OWNER .* HEARD +KEPT FOR +LOAD/);
    expect(leaderHint(STATUS)).toEqual([]);
  });
});
