import { describe, expect, it } from 'vitest';
import { router } from '../../../node/http/router.ts';
import { keyHash } from '../../../runtime/keys/hash.ts';
import { formatHash } from '../../../runtime/keys/position.ts';
import { RefusedError } from '../../../runtime/errors.ts';
import { instant } from '../../../runtime/time.ts';
import { alone, closed } from '../errors.ts';
import type { OwnersAnswer, PoolAnswer, PoolSummary, StatusAnswer, TableAnswer } from './answers.ts';
import type { LoggedEvent } from './event-log.ts';
import type { ExplainAnswer, KeyAnswer } from './explain.ts';
import type { MoverObservation } from '../../core/manager/pool-moves.ts';
import { ManagerState } from '../../core/state.ts';
import {
  apiRoutes,
  keepingNothing,
  ManagerToLookAt,
  moving,
  standby,
  threeOwners,
  waiting,
} from './source-script.ts';

interface Failure {
  readonly error: { readonly code: string; readonly message: string };
}

interface Got<T> {
  readonly status: number;
  readonly body: T;
}

function get<T = Failure>(manager: ManagerToLookAt, url: string): Got<T> {
  const answer = router(apiRoutes(manager.source()))('GET', url, () => undefined);
  if (answer.kind !== 'text') throw new Error(`${url} is answered by a stream`);
  return { status: answer.status, body: JSON.parse(answer.body) };
}

function ok<T>(manager: ManagerToLookAt, url: string): T {
  const { status, body } = get<T & Partial<Failure>>(manager, url);
  expect([status, body.error]).toEqual([200, undefined]);
  return body;
}

/** The status of the Manager, of all handles. */
const ofManager = <T = StatusAnswer>(manager: ManagerToLookAt): T =>
  ok<{ readonly handles: readonly [T] }>(manager, '/v1/status').handles[0];

describe('/v1/status', () => {
  it('says what the Manager is and how much it looks after', () => {
    expect(ofManager(threeOwners())).toMatchObject({
      id: 'm1',
      role: 'leading',
      isReady: true,
      term: 3,
      position: 4,
      leadsForMs: 2_000,
      uptimeSeconds: 75,
      pools: 2,
      owners: 3,
      lookups: 2,
      store: { kind: 'file', where: 'data', bytes: 4_096, members: [] },
    });
  });

  it('says who leads and who else is there', () => {
    expect(ofManager(standby())).toMatchObject({
      role: 'standby',
      leader: { id: 'm2', address: '10.0.0.2:7400' },
      managers: [
        {
          ...{ id: 'm1', address: '10.0.0.1:7400', http: 'http://10.0.0.1:7401' },
          ...{ isLeader: false, isSelf: true },
        },
        {
          ...{ id: 'm2', address: '10.0.0.2:7400', http: 'http://10.0.0.2:7401' },
          ...{ isLeader: true, isSelf: false },
        },
        { id: 'm3', address: '10.0.0.3:7400', http: null, isLeader: false, isSelf: false },
      ],
      behind: null,
    });
  });

  it('has one leader at most, and that is itself as soon as it leads', () => {
    const manager = standby();
    manager.role = 'leading';
    const { managers } = ofManager(manager);
    expect(managers.filter(({ isLeader }) => isLeader).map(({ id }) => id)).toEqual(['m1']);
  });

  it('says of one that led before it was restarted, and stands by, that it does not lead', () => {
    const manager = standby();
    manager.leader = { leader: 'm1', address: '10.0.0.1:7400' };
    manager.join('presence', 'presence-2');
    const { managers } = ofManager(manager);
    expect(managers.some(({ isLeader }) => isLeader)).toBe(false);
  });

  it('says how far a standby was behind when it last looked', () => {
    const manager = standby();
    manager.headSeen = { position: manager.state.position + 3, askedAt: instant(0) };
    expect(ofManager(manager)).toMatchObject({ behind: 3 });
    manager.headSeen = { position: 0, askedAt: instant(0) };
    expect(ofManager(manager)).toMatchObject({ behind: 0 });
  });

  it('says of one that keeps nothing what it knows, the term of the one that leads, and not 0 of the rest', () => {
    const unknown = { pools: null, owners: null, rows: null, position: null, behind: null };
    expect(ofManager(keepingNothing())).toMatchObject({ ...unknown, lookups: 0, term: 7 });
    const manager = keepingNothing();
    manager.elected = undefined;
    expect(ofManager(manager)).toMatchObject({ ...unknown, term: null, leader: null });
  });

  it('says of a halted one why', () => {
    const manager = threeOwners();
    Object.assign(manager, { role: 'halted', haltedBecause: 'the store went back in time' });
    expect(ofManager(manager)).toMatchObject({
      role: 'halted',
      haltedBecause: 'the store went back in time',
      leadsForMs: null,
    });
  });
});

describe('/v1/manager/step-down', () => {
  const post = async (manager: ManagerToLookAt): Promise<Got<unknown>> => {
    const json = (name: string): string | undefined =>
      name === 'content-type' ? 'application/json' : undefined;
    const answer = router(apiRoutes(manager.source()))('POST', '/v1/manager/step-down', json);
    if (answer.kind !== 'promised') throw new Error('it was answered at once');
    const { status, body } = await answer.answer;
    return { status, body: JSON.parse(body) };
  };
  const m2 = { id: 'm2', address: '10.0.0.2:7400', http: 'http://10.0.0.2:7401' };

  it('is answered when another leads, with who that is', async () => {
    const manager = standby();
    manager.role = 'leading';
    manager.stepDown = async () => {
      manager.role = 'standby';
      manager.term = 4;
      return true;
    };
    expect(await post(manager)).toEqual({
      status: 200,
      body: { hasSteppedDown: true, term: 4, leader: m2 },
    });
  });

  it('has nothing done by one that stands by, and says who leads', async () => {
    expect(await post(standby())).toMatchObject({ status: 200, body: { hasSteppedDown: false, leader: m2 } });
  });

  it('is refused by one that is alone', async () => {
    const manager = threeOwners();
    manager.stepDown = () => Promise.reject(alone('its log is its own'));
    expect(await post(manager)).toMatchObject({
      status: 409,
      body: { error: { code: 'ALONE', message: expect.stringContaining('its log is its own') } },
    });
  });

  it('is not done by one that ends meanwhile', async () => {
    const manager = threeOwners();
    manager.stepDown = () => Promise.reject(closed('the Manager'));
    expect(await post(manager)).toMatchObject({ status: 503, body: { error: { code: 'CLOSED' } } });
  });

  it('does not hide a fault', async () => {
    const manager = threeOwners();
    manager.stepDown = () => Promise.reject(new Error('a fault'));
    await expect(post(manager)).rejects.toThrow('a fault');
  });

  it('is not there to be looked at', () => {
    expect(get(threeOwners(), '/v1/manager/step-down')).toMatchObject({ status: 405 });
  });
});

describe('/v1/pool/{pool}/moves', () => {
  it('says what is under way, and what the owners that take part have left', () => {
    const { body } = get(moving(), '/v1/pool/presence/moves');
    expect(body).toMatchObject({
      ...{ pool: 'presence', term: 3, canMove: true },
      moves: [{ ticket: 'm1.3.1', fromName: 'presence-1', toName: 'presence-2', bytes: 1_000 }],
      owners: [
        { name: 'presence-1', intent: 'emptying', order: 'emptying', targets: 2, sentBytes: 3_000 },
        { name: 'presence-2', intent: 'stay', order: null },
      ],
    });
  });

  it('says it of one owner, also of one that takes no part', () => {
    expect(get(moving(), '/v1/pool/presence/moves?owner=presence-3').body).toMatchObject({
      ...{ moves: [], owners: [{ name: 'presence-3', movesKeys: null, targets: null }] },
    });
  });

  it('is not known to one that stands by', () => {
    const manager = moving();
    manager.role = 'standby';
    expect(get(manager, '/v1/pool/presence/moves').body).toMatchObject({ moves: null, owners: null });
  });
});

describe('an order to an owner', () => {
  const post = async (manager: ManagerToLookAt, url: string): Promise<Got<unknown>> => {
    const json = (name: string): string | undefined =>
      name === 'content-type' ? 'application/json' : undefined;
    const answer = router(apiRoutes(manager.source()))('POST', `/v1/pool/presence/owners/${url}`, json);
    if (answer.kind === 'stream') throw new Error('it is a stream');
    const { status, body } = answer.kind === 'promised' ? await answer.answer : answer;
    return { status, body: JSON.parse(body) };
  };
  const asked = (manager: ManagerToLookAt): unknown[] => {
    const orders: unknown[] = [];
    manager.order = async (pool, order) => {
      orders.push([pool, order]);
      return 'presence-1.1';
    };
    return orders;
  };

  it('is answered when it is in the log, with the process that it is about', async () => {
    const manager = threeOwners();
    const orders = asked(manager);
    expect(await post(manager, 'presence-1/drain')).toEqual({
      status: 200,
      body: { pool: 'presence', owner: 'presence-1', incarnation: 'presence-1.1', order: 'drain' },
    });
    await post(manager, 'presence-1/drain?otherwise=lose');
    await post(manager, 'presence-1/cordon');
    await post(manager, 'presence-1/uncordon');
    expect(orders).toEqual([
      ['presence', { kind: 'drain', owner: 'presence-1', otherwise: 'stay' }],
      ['presence', { kind: 'drain', owner: 'presence-1', otherwise: 'lose' }],
      ['presence', { kind: 'cordon', owner: 'presence-1' }],
      ['presence', { kind: 'uncordon', owner: 'presence-1' }],
    ]);
  });

  it('is not given if a parameter is malformed', async () => {
    const manager = threeOwners();
    const orders = asked(manager);
    expect(await post(manager, 'presence-1/drain?otherwise=soon')).toMatchObject({
      status: 400,
      body: { error: { code: 'INVALID_PARAMETER' } },
    });
    expect(orders).toEqual([]);
  });

  it.each([
    ['UNKNOWN_OWNER', 404],
    ['CANNOT_MOVE', 409],
  ])('that is refused with %s is answered with %i', async (code, status) => {
    const manager = threeOwners();
    manager.order = () => Promise.reject(new RefusedError(code, 'no', { module: 'manager' }));
    expect(await post(manager, 'presence-9/drain')).toMatchObject({ status, body: { error: { code } } });
  });

  it('to an owner of a pool that is not there is refused', async () => {
    const json = (name: string): string | undefined =>
      name === 'content-type' ? 'application/json' : undefined;
    const route = router(apiRoutes(threeOwners().source()));
    const answer = route('POST', '/v1/pool/nothing/owners/a/cordon', json);
    expect(answer).toMatchObject({ status: 404 });
  });
});

describe('/v1/pool', () => {
  it('lists pools that are in the log or declared, and none of which only a look-up has asked', () => {
    const manager = threeOwners();
    manager.lookups.push({ pool: 'presnce', address: 'p9', lastHeardAt: instant(1) });
    const { pools } = ok<{ readonly pools: readonly PoolSummary[] }>(manager, '/v1/pool');
    expect(pools.map(({ name, owners, isDeclared }) => [name, owners, isDeclared])).toEqual([
      ['presence', 3, false],
      ['quotas', 0, true],
    ]);
  });

  it('says how much is owned by nobody and how much is to be moved', () => {
    const manager = threeOwners();
    manager.commit('presence', [{ kind: 'leave', incarnation: 'presence-2.1', why: 'expired' }]);
    const pool = ok<PoolAnswer>(manager, '/v1/pool/presence');
    expect(pool.unownedPercent).toBeGreaterThan(20);
    expect(pool.misplacedPercent).toBe(pool.unownedPercent);
    expect(pool).toMatchObject({ owners: 2, lastLostAt: 5, changedAt: 5, policy: 'consistent-hashing' });
  });

  it('does not know, unless it leads, what is to be moved', () => {
    const manager = threeOwners();
    manager.role = 'standby';
    expect(ok<PoolAnswer>(manager, '/v1/pool/presence').misplacedPercent).toBeNull();
  });

  it('gives the durations of a pool and the bounds that follow', () => {
    const { durations, bounds, virtualNodes } = ok<PoolAnswer>(threeOwners(), '/v1/pool/quotas');
    expect(durations).toMatchObject({ leaseMs: 9_000, holdMs: 10_980 });
    expect(bounds.lossToldWithinMs).toBeGreaterThan(30_000);
    expect(virtualNodes).toBe(64);
  });

  it.each(['', '/owners', '/lookups', '/keys/a', '/explain?key=a', '/table'])(
    'answers for a pool that is not there with the pools there are: …%s',
    (rest) => {
      const { status, body } = get(threeOwners(), `/v1/pool/nobody${rest}`);
      expect(status).toBe(404);
      expect(body.error).toEqual({
        code: 'UNKNOWN_POOL',
        message: 'there is no pool "nobody"; there are presence, quotas',
        pools: ['presence', 'quotas'],
      });
    },
  );
});

describe('a Manager that stands by', () => {
  const ROUTES = ['', '/owners', '/lookups', '/keys/a', '/explain?key=a', '/table'].map(
    (rest) => `/v1/pool/quotas${rest}`,
  );

  it.each(['/v1/pool', '/v1/pool/presence', ...ROUTES])(
    'and keeps nothing does not say that there is no pool, or that nobody owns a key, but who leads: %s',
    (url) => {
      expect(get(keepingNothing(), url)).toEqual({
        status: 421,
        body: {
          error: {
            code: 'NOT_LEADING',
            message:
              'this Manager stands by, and knows neither pools nor owners; m2 leads, as far as it knows: ask that one',
            leader: { id: 'm2', address: null, http: null },
          },
        },
      });
    },
  );

  it('says where the one that leads can be asked, if it knows', () => {
    const manager = keepingNothing();
    manager.others = standby().others;
    expect(get(manager, '/v1/pool').body.error.message).toMatch(
      /: ask that one, at http:\/\/10\.0\.0\.2:7401$/,
    );
  });

  it.each(['/v1/pool', ...ROUTES])(
    'and has read nothing of its log yet says so, and that it does not know who leads: %s',
    (url) => {
      const manager = keepingNothing();
      manager.elected = undefined;
      expect(get(manager, url)).toMatchObject({
        status: 421,
        body: {
          error: {
            message: 'this Manager stands by, and knows neither pools nor owners, nor who leads',
            leader: null,
          },
        },
      });
    },
  );

  it('knows that there are no pools once it has read the whole of an empty log', () => {
    const manager = standby();
    manager.state = ManagerState.empty;
    manager.headSeen = { position: 0, askedAt: instant(0) };
    expect(ok(manager, '/v1/pool')).toMatchObject({ pools: [] });
    expect(get(manager, '/v1/pool/presence/keys/a')).toMatchObject({
      status: 404,
      body: { error: { code: 'UNKNOWN_POOL', message: 'there is no pool "presence"; there is none yet' } },
    });
    manager.declared = ['quotas'];
    expect(ok<KeyAnswer>(manager, '/v1/pool/quotas/keys/a').owner).toBeNull();
  });

  it('says of a key what the log says, if it follows one', () => {
    expect(ok<KeyAnswer>(standby(), '/v1/pool/presence/keys/alice').owner).toBeNull();
    expect(get(standby(), '/v1/pool/other').body.error.code).toBe('UNKNOWN_POOL');
  });
});

describe('a Manager that has just begun to lead, and waits for what an earlier one may have given', () => {
  it.each(['/v1/pool', '/v1/pool/presence/keys/a', '/v1/pool/presence/explain?key=a'])(
    'says for how much longer: %s',
    (url) => {
      expect(ok(waiting(), url)).toMatchObject({ waitsMs: 9_000 });
      const manager = waiting();
      manager.nowMs += 9_500; // What it then gives out is still to be committed.
      expect(ok(manager, url)).toMatchObject({ waitsMs: 0 });
    },
  );

  it('says for how much longer in the status', () => {
    expect(ofManager(waiting())).toMatchObject({ waitsMs: 9_000 });
  });

  it('explains that it cannot know yet, and not that nobody owns a key', () => {
    const { sentences } = ok<ExplainAnswer>(waiting(), '/v1/pool/presence/explain?key=a');
    expect(sentences).toEqual([
      expect.stringMatching(/^The key "a" is hashed whole and lies at /),
      'Its owner is not known yet: this Manager has just begun to lead, and waits 9.0 s more for leases of an earlier Manager to expire. An owner with such a lease may serve the key until then; after that, the range is granted anew.',
    ]);
  });

  it('says what a log had that was put back from a backup, and that it may be older', () => {
    const manager = threeOwners();
    manager.waitsUntil = instant(manager.nowMs + 9_000);
    const { sentences } = ok<ExplainAnswer>(manager, '/v1/pool/presence/explain?key=alice');
    expect(sentences).toHaveLength(3);
    expect(sentences[2]).toMatch(
      /^In the log that this Manager found, which may be older, its owner is presence-\d\.$/,
    );
  });

  it('does not say that there is no pool that it does not know of yet', () => {
    expect(get(waiting(), '/v1/pool/other').body.error).toMatchObject({
      code: 'UNKNOWN_POOL',
      message: 'this Manager has just begun to lead, and knows of no pool "other" yet; it knows of presence',
    });
  });

  it('is told from one that need not wait', () => {
    expect(ofManager(threeOwners())).toMatchObject({ waitsMs: null });
    expect(ok(threeOwners(), '/v1/pool/presence/keys/a')).toMatchObject({ waitsMs: null });
  });
});

describe('/v1/pool/{pool}/owners', () => {
  it('says what owners are to do with their keys, and what is on its way', () => {
    const manager = moving();
    const { owners } = ok<OwnersAnswer>(manager, '/v1/pool/presence/owners');
    expect(owners).toMatchObject([
      { name: 'presence-1', intent: 'emptying', order: 'emptying', movesOut: 1, movesIn: 0 },
      { name: 'presence-2', intent: 'stay', order: null, movesOut: 0, movesIn: 1 },
      { name: 'presence-3', intent: 'stay', order: null, movesOut: 0, movesIn: 0 },
    ]);
    manager.role = 'standby';
    expect(ok<OwnersAnswer>(manager, '/v1/pool/presence/owners').owners[0]).toMatchObject({
      ...{ intent: null, order: 'emptying', movesOut: null, movesIn: null },
    });
  });

  it('shows members and those who want to be, by name', () => {
    const manager = threeOwners();
    manager.candidates.push({
      ...{ pool: 'presence', incarnation: 'new.1', name: 'new', url: 'http://new' },
      ...{ isProvable: false, isMember: false, isLeaving: false, recalled: [] },
      ...{ lastHeardAt: instant(99_000), holdUntil: undefined, load: 0 },
    });
    const { count, owners } = ok<OwnersAnswer>(manager, '/v1/pool/presence/owners');
    expect(count).toBe(4);
    expect(owners[0]).toMatchObject({
      name: 'new',
      isMember: false,
      ranges: 0,
      heardAgoMs: 1_000,
      keptForMs: null,
    });
    expect(owners[1]).toMatchObject({
      ...{ name: 'presence-1', incarnation: 'presence-1.1', isMember: true, isProvable: true, joinedAt: 1 },
      ...{ heardAgoMs: 400, keptForMs: 9_350, load: 12.5 },
    });
    expect(owners[1]?.wantedPercent).toBe(owners[1]?.sharePercent);
    expect(JSON.stringify(owners)).not.toContain('proof-of');
  });

  it('comes in pages', () => {
    const manager = threeOwners();
    const first = ok<OwnersAnswer>(manager, '/v1/pool/presence/owners?limit=2');
    const second = ok<OwnersAnswer>(
      manager,
      `/v1/pool/presence/owners?limit=2&after=${encodeURIComponent(first.next ?? '')}`,
    );
    const names = [...first.owners, ...second.owners].map(({ name }) => name);
    expect([names, second.next]).toEqual([['presence-1', 'presence-2', 'presence-3'], null]);
  });

  it.each(['0', '-1', '1.5', 'many', '5001', ''])('refuses a limit of "%s"', (limit) => {
    const { status, body } = get(threeOwners(), `/v1/pool/presence/owners?limit=${limit}`);
    expect([status, body.error.code]).toEqual([400, 'INVALID_PARAMETER']);
    expect(body.error.message).toContain('from 1 to 5000');
  });
});

describe('a key that is too long', () => {
  it.each(['keys/', 'explain?key='])('is refused by %s with the code that the library throws', (path) => {
    const { status, body } = get(threeOwners(), `/v1/pool/presence/${path}${'a'.repeat(4_097)}`);
    expect([status, body.error.code]).toEqual([400, 'INVALID_KEY']);
    expect(body.error.message).toContain('at most 4096');
  });
});

describe('/v1/pool/{pool}/lookups', () => {
  it('says where they are and when they were heard', () => {
    expect(ok(threeOwners(), '/v1/pool/presence/lookups?limit=1')).toEqual({
      pool: 'presence',
      count: 2,
      lookups: [{ address: 'p7', heardAgoMs: 1_200 }],
      next: 'p7',
    });
  });
});

describe('/v1/pool/{pool}/table', () => {
  it('comes in pages that cover the ring without a hole', () => {
    const manager = threeOwners();
    const rows: { start: string; end: string }[] = [];
    let from: string | null = '0000000000000000';
    while (from !== null) {
      const page: TableAnswer = ok(manager, `/v1/pool/presence/table?limit=50&from=${from}`);
      rows.push(...page.rows);
      from = page.next;
    }
    expect(rows).toHaveLength(manager.state.pool('presence').rows.length);
    for (const [index, { end }] of rows.entries()) {
      expect(end).toBe(rows[(index + 1) % rows.length]?.start);
    }
  });

  it('has one row of a pool that nobody joined', () => {
    expect(ok<TableAnswer>(threeOwners(), '/v1/pool/quotas/table').rows).toEqual([
      {
        ...{ start: '0000000000000000', end: '0000000000000000', owner: null, ownerName: null },
        ...{ sharePercent: 100, number: 0, lostAt: 0, changedAt: 0 },
      },
    ]);
  });

  it('wants a place on the ring in 16 digits', () => {
    expect(get(threeOwners(), '/v1/pool/presence/table?from=12').body.error.message).toBe(
      'from is "12", but a place on the ring is 16 hexadecimal digits',
    );
  });
});

describe('/v1/pool/{pool}/keys/{key}', () => {
  it('finds the owner that the table has', () => {
    const manager = threeOwners();
    for (const key of ['alice', 'a/b c', 'cart:{ana}:items', 'ключ', '%', '..x']) {
      const found: KeyAnswer = ok(manager, `/v1/pool/presence/keys/${encodeURIComponent(key)}`);
      const position = keyHash(key);
      const row = manager.state
        .pool('presence')
        .rows.find(({ start, end }) => start <= position && position < end);
      expect(found).toMatchObject({ key, hash: formatHash(position), number: 4, lostAt: 0 });
      expect(found.owner?.incarnation).toBe(row?.owner);
    }
  });

  it('says that nobody owns it', () => {
    expect(ok(threeOwners(), '/v1/pool/quotas/keys/alice')).toMatchObject({
      owner: null,
      number: 0,
      tag: null,
    });
  });

  it('refuses what is not percent-encoded', () => {
    expect(get(threeOwners(), '/v1/pool/presence/keys/%E0%A4%A').body.error.code).toBe('MALFORMED_URL');
  });
});

describe('/v1/pool/{pool}/explain', () => {
  const explain = (manager: ManagerToLookAt, query = 'key=alice'): ExplainAnswer =>
    ok(manager, `/v1/pool/presence/explain?${query}`);
  const sentence = (answer: ExplainAnswer, part: string): string | undefined =>
    answer.sentences.find((each) => each.includes(part));

  it('says where it lies, who owns it, and that the policy wants it there', () => {
    const answer = explain(threeOwners());
    expect(answer.policy).toMatchObject({ isSatisfied: true, wants: answer.owner });
    expect(answer.policy.claimedBy?.name).toBe(answer.owner?.name);
    expect(sentence(answer, 'hashed whole')).toContain(answer.hash);
    expect(sentence(answer, 'lease number 4')).toContain(`Its owner is ${answer.owner?.name}`);
    expect(sentence(answer, 'never lost')).toBeDefined();
    expect(sentence(answer, '0.4 s ago, which is as it should be')).toBeDefined();
    expect(sentence(answer, `point ${answer.policy.claimedBy?.point}`)).toBeDefined();
    expect(answer.sentences.at(-2)).toBe('It is where the policy wants it.');
    expect(answer).toMatchObject({ arrived: 'granted', moving: null });
  });

  it('explains the tag, which is what is hashed', () => {
    const answer = explain(threeOwners(), `key=${encodeURIComponent('cart:{ana}:items')}`);
    expect(answer).toMatchObject({ tag: 'ana', hash: formatHash(keyHash('ana')) });
    expect(sentence(answer, 'only the part in braces, "ana", is hashed')).toBeDefined();
    for (const whole of ['cart:{}:{ana}', 'cart:}ana{', '{', 'plain']) {
      expect(explain(threeOwners(), `key=${encodeURIComponent(whole)}`).tag).toBeNull();
    }
  });

  it('takes a place on the ring instead of a key, but not both and not neither', () => {
    const manager = threeOwners();
    const { hash, owner } = explain(manager);
    expect(explain(manager, `hash=${hash}`)).toMatchObject({ key: null, owner });
    for (const query of ['', `key=a&hash=${hash}`, 'hash=1']) {
      expect(get(manager, `/v1/pool/presence/explain?${query}`).status).toBe(400);
    }
    expect(explain(manager, 'key=').key).toBe('');
  });

  it('says when it was lost, and that the next commit grants it', () => {
    const manager = threeOwners();
    const incarnation = explain(manager).owner?.incarnation ?? '';
    manager.commit('presence', [{ kind: 'leave', incarnation, why: 'expired' }]);
    const answer = explain(manager);
    expect(answer).toMatchObject({ owner: null, lostAt: 5, policy: { isSatisfied: false } });
    expect(sentence(answer, 'Nobody owns that range')).toBeDefined();
    expect(sentence(answer, 'last lost their state at commit 5')).toBeDefined();
    expect(answer.sentences.at(-1)).toContain('will be granted to presence-');
  });

  it('says that it is being recalled', () => {
    const manager = threeOwners();
    const key = [...Array(40).keys()].map((index) => `user:${index}`);
    const before = new Map(key.map((each) => [each, explain(manager, `key=${each}`).owner]));
    manager.join('presence', 'presence-4');
    const wanted =
      key.find((each) => explain(manager, `key=${each}`).policy.wants?.name === 'presence-4') ?? '';
    const owner = before.get(wanted);
    expect(explain(manager, `key=${wanted}`).sentences).toContain(
      `It will be recalled from ${owner?.name} and then granted to presence-4.`,
    );
    const start = keyHash(wanted);
    manager.about.set(owner?.incarnation ?? '', { recalled: [{ start, end: start + 1n, number: 4 }] });
    const answer = explain(manager, `key=${wanted}`);
    expect(answer.isRecalled).toBe(true);
    expect(sentence(answer, `It has been recalled: ${owner?.name} was asked`)).toBeDefined();
  });

  it('says how long the keys of a silent owner are kept', () => {
    const manager = threeOwners();
    const incarnation = explain(manager).owner?.incarnation ?? '';
    manager.about.set(incarnation, { lastHeardAt: instant(95_000), holdUntil: instant(104_750) });
    expect(sentence(explain(manager), '5.0 s ago, although it should report every 1.5 s')).toContain(
      'kept for it for another 4.8 s',
    );
    manager.about.set(incarnation, { lastHeardAt: undefined });
    expect(sentence(explain(manager), 'has not heard')).toBeDefined();
  });

  it('says what becomes of the key if its owner dies', () => {
    const manager = threeOwners();
    const { ifOwnerDied, owner } = explain(manager);
    expect(ifOwnerDied).toEqual({ goesTo: expect.anything(), afterMs: 9_350, keepsState: false });
    const goesTo = ifOwnerDied?.goesTo?.name;
    expect(goesTo).not.toBe(owner?.name);
    expect(explain(manager).sentences.at(-1)).toBe(
      `If ${owner?.name} died now and was not started again, it would lose its state and go to ${goesTo} as soon as its death is proved, or in 9.3 s.`,
    );
    manager.about.set(owner?.incarnation ?? '', { isProvable: false });
    expect(explain(manager).sentences.at(-1)).toContain(`go to ${goesTo} in 9.3 s.`);
    manager.commit('presence', [{ kind: 'leave', incarnation: owner?.incarnation ?? '', why: 'expired' }]);
    expect(explain(manager)).toMatchObject({ arrived: null, ifOwnerDied: null });
    manager.settle('presence');
    expect(explain(manager).owner?.name).toBe(goesTo);
  });

  it('says that there is no other owner', () => {
    const manager = new ManagerToLookAt();
    manager.join('presence', 'presence-1');
    manager.settle('presence');
    expect(explain(manager).ifOwnerDied).toMatchObject({ goesTo: null });
    expect(explain(manager).sentences.at(-1)).toBe('If presence-1 died now, no other owner could take it.');
  });

  describe('in a pool whose keys move', () => {
    /** The row of presence-1 that is on its way, by its place; and a place of another row of an owner. */
    const underway = (manager: ManagerToLookAt): string =>
      `hash=${formatHash(manager.moves?.underway[0]?.start ?? 0n)}`;
    const of = (manager: ManagerToLookAt, incarnation: string): string =>
      `hash=${formatHash(manager.state.pool('presence').rowsOf(incarnation).at(-1)?.start ?? 0n)}`;
    const phased = (phase: 'waiting' | 'streaming' | 'handed'): ManagerToLookAt => {
      const manager = moving();
      const [move] = manager.moves?.underway ?? [];
      if (manager.moves !== undefined && move !== undefined)
        manager.moves = { ...manager.moves, underway: [{ ...move, phase }] };
      return manager;
    };
    const intending = (parts: Partial<MoverObservation>): ManagerToLookAt => {
      const manager = moving();
      const { members = [] } = manager.moves ?? {};
      manager.commit('presence', [{ kind: 'order', incarnation: 'presence-1.1', order: undefined }]);
      manager.moves = {
        ...{ canMove: true, underway: [] },
        members: members.map((member) =>
          member.name === 'presence-1' ? { ...member, order: undefined, ...parts } : member,
        ),
      };
      return manager;
    };

    it('names the policy that places them, and no point of a policy that does not', () => {
      const manager = moving();
      const answer = explain(manager, of(manager, 'presence-2.1'));
      expect(answer.policy).toMatchObject({ name: 'sticky', isSatisfied: true, claimedBy: null });
      expect(answer.why).toContain('keys stay where they are');
      expect(sentence(answer, 'The policy (sticky) wants it at presence-2: keys stay')).toBeDefined();
    });

    it('says what moves it, how far that is and why', () => {
      const manager = moving();
      const answer = explain(manager, underway(manager));
      expect(answer).toMatchObject({
        moving: { ticket: 'm1.3.1', to: { name: 'presence-2' }, phase: 'streaming', bytes: 1_000 },
        policy: { wants: { name: 'presence-2' }, isSatisfied: false },
        why: 'presence-1 is to hand all its keys over, as an operator has ordered',
        isRecalled: false,
      });
      expect(sentence(answer, 'presence-1 has sent 1000 bytes of state so far')).toBeDefined();
      expect(sentence(answer, 'recalled')).toBeUndefined();
      const other = explain(manager, of(manager, 'presence-1.1'));
      expect(other.moving).toBeNull();
      expect(sentence(other, 'with its state, when it is its turn')).toBeDefined();
    });

    it('says that it is about to move, and that it has been handed over', () => {
      const before = phased('waiting');
      expect(sentence(explain(before, underway(before)), 'It is about to move to presence-2')).toBeDefined();
      const after = phased('handed');
      const answer = explain(after, underway(after));
      expect(sentence(answer, 'presence-1 serves it no more')).toBeDefined();
      expect(answer.ifOwnerDied).toMatchObject({
        ...{ goesTo: { name: 'presence-2' }, afterMs: 0, keepsState: true },
      });
      expect(answer.sentences.at(-1)).toContain('it would go to presence-2 with its state');
    });

    it.each([
      [{ intent: 'cordoned' }, 'presence-1 takes no more keys, and keeps those it has'],
      [{ intent: 'stay' }, 'keys stay where they are'],
    ] as const)('says why it stays: %j', (parts, words) => {
      const manager = intending(parts);
      expect(explain(manager, of(manager, 'presence-1.1')).why).toContain(words);
    });

    it('says that an operator has cordoned its owner', () => {
      const manager = intending({ intent: 'cordoned', order: 'cordoned' });
      manager.commit('presence', [{ kind: 'order', incarnation: 'presence-1.1', order: 'cordoned' }]);
      expect(explain(manager, of(manager, 'presence-1.1')).why).toContain('as an operator has ordered');
    });

    it('says that it is asked back if its state is not to move', () => {
      const manager = moving();
      manager.commit('presence', [{ kind: 'order', incarnation: 'presence-1.1', order: 'released' }]);
      const { members = [] } = manager.moves ?? {};
      const released = members.map((member) => ({ ...member, order: 'released' as const }));
      manager.moves = { canMove: true, underway: [], members: released };
      const answer = explain(manager, of(manager, 'presence-1.1'));
      expect(answer.why).toContain('give back, without its state');
      expect(sentence(answer, 'It will be recalled from presence-1')).toBeDefined();
    });

    it('says that it stays as long as no owner can take its state', () => {
      const manager = moving();
      const { members = [] } = manager.moves ?? {};
      const alone = members.map((member) => ({ ...member, targets: 0 }));
      manager.moves = { canMove: true, underway: [], members: alone };
      const answer = explain(manager, of(manager, 'presence-1.1'));
      expect(sentence(answer, 'as long as no owner can take its state')).toBeDefined();
    });

    it('says that it arrived with its state, or came back', () => {
      const manager = moving();
      const [move] = manager.moves?.underway ?? [];
      if (move === undefined) throw new Error('nothing moves');
      const { start, end, ticket } = move;
      const query = underway(manager);
      const number = manager.commit('presence', [{ kind: 'renumber', spans: [{ start, end }] }]);
      expect(explain(manager, query)).toMatchObject({ arrived: 'returned', number, moving: null });
      expect(sentence(explain(manager, query), 'stayed with its state')).toBeDefined();
      manager.commit('presence', [
        { kind: 'move', incarnation: 'presence-2.1', spans: [{ start, end }], ticket },
      ]);
      const moved = explain(manager, query);
      expect(moved).toMatchObject({ arrived: 'moved', owner: { name: 'presence-2' } });
      expect(sentence(moved, 'the range moved there with its state')).toBeDefined();
    });
  });

  it('leaves the policy to the leader', () => {
    const manager = threeOwners();
    manager.role = 'standby';
    const answer = explain(manager);
    expect(answer.policy).toMatchObject({ wants: null, isSatisfied: null, claimedBy: null });
    expect(answer).toMatchObject({ arrived: 'granted', moving: null, why: null, ifOwnerDied: null });
    expect(answer.sentences.at(-1)).toContain('this Manager does not lead');
  });
});

interface Recent {
  readonly events: readonly LoggedEvent[];
  readonly latestEventId: string;
}

describe('/v1/events/recent', () => {
  it('has the last events, the newest last', () => {
    const { events, latestEventId } = ok<Recent>(threeOwners(), '/v1/events/recent?limit=3');
    expect(events.map(({ kind }) => kind)).toEqual(['pool.granted', 'pool.granted', 'pool.granted']);
    expect(latestEventId).toBe(events[2]?.id);
  });
});

describe('/healthz and /readyz', () => {
  it('tell living from being of use', () => {
    const manager = threeOwners();
    expect(ok(manager, '/healthz')).toEqual({
      status: 'ok',
      uptimeSeconds: 60,
      eventLoopDelaySeconds: 0.004,
    });
    const handle = { module: 'manager', instance: 'data', role: 'leading' };
    expect(ok(manager, '/readyz')).toEqual({
      ...{ isReady: true, why: null, stalls: [] },
      handles: [{ ...handle, isReady: true }],
    });
    Object.assign(manager, { role: 'standby', whyNotReady: 'nothing was read of the log yet' });
    expect(get(manager, '/readyz')).toEqual({
      status: 503,
      body: {
        ...{ isReady: false, why: 'nothing was read of the log yet' },
        stalls: [
          {
            ...{ module: 'manager', instance: 'data' },
            ...{ check: 'manager', why: 'nothing was read of the log yet', forMs: 0 },
          },
        ],
        handles: [{ ...handle, role: 'standby', isReady: false }],
      },
    });
    expect(get(manager, '/healthz').status).toBe(200);
  });
});
