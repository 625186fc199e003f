import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { HandMovedRuntime, listeningLogger } from '../../../node/tcp/socket-script.ts';
import type { Key } from '../../../runtime/keys/hash.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import type { Changes, FromManager, OwnerAddress, ToManager } from '../../core/messages.ts';
import { lookupPace, resolveDurations } from '../../core/options.ts';
import { notOwner } from '../errors.ts';
import type { LogPosition } from '../status.ts';
import { type Loss, PoolLookup } from './pool-lookup.ts';

const durations = resolveDurations();
const OWNER: OwnerAddress = { incarnation: 'a.1', name: 'a', url: 'http://a' };

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A look-up, and the Manager's voice. */
function bench(resumeFrom?: LogPosition) {
  const runtime = new HandMovedRuntime();
  const logger = listeningLogger();
  const said: ToManager[] = [];
  const losses: Loss[] = [];
  let hear: (from: string, message: FromManager) => void = () => {};
  const lookup = new PoolLookup({
    ...{ pool: 'presense', id: 'l', addresses: { current: ['m1'] }, durations, insists: {}, runtime, logger },
    ...{ resumeFrom, onLoss: (loss: Loss) => losses.push(loss) },
    dialer: {
      send: (_, message) => said.push(message),
      listen: (callback) => {
        hear = callback;
        return { [Symbol.dispose]: () => {} };
      },
    },
    close: async () => {},
  });
  const answer = (to: number, owner?: OwnerAddress, lostAt = 0): void => {
    const asked = said.findLast((message) => message.kind === 'sync');
    const changes: Changes = {
      ...{ kind: 'changes', pool: 'presense', history: 'h', term: 1, from: 0, to },
      rows: [{ start: 0n, end: RING_SIZE, owner, number: to, lostAt }],
      ...{ answers: { lookup: 'l', sequence: asked?.sequence ?? 0 }, pace: lookupPace(durations) },
    };
    hear('m1', changes);
  };
  const refuse = (): void =>
    hear('m1', {
      ...{
        kind: 'refused',
        pool: 'presense',
        asker: 'l',
        code: 'UNKNOWN_POOL',
        message: 'no',
        retryable: false,
      },
    });
  const warnings = () => logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
  return { lookup, runtime, answer, refuse, warnings, losses };
}

describe('a look-up of a pool that nobody has ever owned', () => {
  const LONELY = 'no owner has ever held a key of this pool: is its name right, and does a server run?';

  it('says so after a while, once, and when that is over', () => {
    const { runtime, answer, warnings } = bench();
    answer(0);
    runtime.pass(9_999);
    expect(warnings()).toEqual([]);
    runtime.pass(1);
    answer(0);
    runtime.pass(10_000);
    answer(0);
    expect(warnings()).toEqual([LONELY]);
    answer(3, OWNER);
    expect(warnings()).toEqual([LONELY, 'this pool has an owner now']);
  });

  it('says nothing if somebody comes soon, or has been there before', () => {
    for (const [owner, lostAt] of [
      [OWNER, 0],
      [undefined, 7],
    ] as const) {
      const { runtime, answer, warnings } = bench();
      answer(9, owner, lostAt);
      runtime.pass(20_000);
      expect(warnings()).toEqual([]);
    }
  });

  it('says nothing once it is closed', async () => {
    const { lookup, runtime, answer, warnings } = bench();
    answer(0);
    await lookup.close();
    runtime.pass(60_000);
    expect([warnings(), runtime.timers]).toEqual([[], 0]);
  });
});

describe('the problem that a look-up reports', () => {
  it('is over when a Manager is heard again', () => {
    const { runtime, answer, warnings } = bench();
    answer(3, OWNER);
    runtime.pass(durations.staleAfterMs + durations.syncEveryMs);
    answer(3, OWNER);
    answer(3, OWNER);
    expect(warnings()).toEqual(['everything may be lost', 'a Manager is heard again']);
  });

  it('is over when it is refused no more', () => {
    const { refuse, answer, warnings } = bench();
    refuse();
    refuse();
    answer(3, OWNER);
    answer(4, OWNER);
    expect(warnings()).toEqual([
      'a Manager refuses this look-up',
      'no Manager refuses this look-up any more',
    ]);
  });
});

describe('a look-up that is closed', () => {
  it('finds nobody any more: what it knew grows old, and nothing would tell', async () => {
    const { lookup, answer } = bench();
    answer(3, OWNER);
    expect(lookup.find('alice')?.name).toBe('a');
    await lookup.close();
    const closed = expect.objectContaining({ code: 'CLOSED' });
    expect(() => lookup.find('alice')).toThrow(closed);
    expect(() => lookup.row('alice')).toThrow(closed);
    await expect(lookup.whenFound('alice')).rejects.toMatchObject({ code: 'CLOSED' });
  });
});

describe('a look-up that somebody prints', () => {
  it('says what and how it is', () => {
    const { lookup, runtime, answer } = bench();
    answer(3, OWNER);
    runtime.pass(100);
    expect(inspect(lookup, { breakLength: Number.POSITIVE_INFINITY })).toBe(
      "PoolLookup { pool: 'presense', position: { history: 'h', position: 3 }, ageMs: 100, isCutOff: false }",
    );
  });
});

describe('a look-up that is asked for what is no key', () => {
  const [number, nothing, object] = [5, undefined, {}] as unknown as Key[];
  it.each([
    ['a number', number],
    ['nothing', nothing],
    ['an object', object],
    ['a position below the ring', -1n],
    ['a position above the ring', RING_SIZE],
    ['a text that is too long', 'a'.repeat(4_097)],
  ])('refuses it: %s', async (_, key = nothing as Key) => {
    const { lookup, answer } = bench();
    answer(5, OWNER);
    const refusal = expect.objectContaining({ code: 'INVALID_KEY', retryable: false, details: { key } });
    expect(() => lookup.find(key)).toThrow(refusal);
    expect(() => lookup.row(key)).toThrow(refusal);
    await expect(lookup.whenFound(key)).rejects.toThrow(refusal);
  });
});

describe('a loss that is told', () => {
  it('says up to where everything has been told, and a look-up that resumes there is told only of what came after', async () => {
    const { answer, losses } = bench();
    answer(5, OWNER);
    answer(7, OWNER, 6);
    answer(9, OWNER, 6);
    await turn();
    expect(losses).toMatchObject([{ why: 'reported', position: { history: 'h', position: 7 } }]);

    const again = bench(losses[0]?.position);
    again.answer(9, OWNER, 6);
    await turn();
    expect(again.losses).toEqual([]);
    again.answer(12, OWNER, 11);
    await turn();
    expect(again.losses).toMatchObject([{ why: 'reported', position: { history: 'h', position: 12 } }]);
  });

  it('says the last position that was heard when nobody can be heard, and none if nothing ever was', async () => {
    const [heard, unheard] = [bench(), bench()];
    heard.answer(5, OWNER);
    for (const { runtime } of [heard, unheard]) runtime.pass(durations.staleAfterMs);
    await turn();
    expect(heard.losses[0]).toMatchObject({ why: 'cut-off', position: { history: 'h', position: 5 } });
    expect(unheard.losses[0]).toMatchObject({ why: 'cut-off', position: undefined });
  });
});

describe('a call to the owner of a key', () => {
  it('goes to the next owner as soon as the table has one', async () => {
    const { lookup, answer, runtime } = bench();
    const next = { incarnation: 'b.1', name: 'b', url: 'http://b' };
    answer(5, OWNER);
    const called: string[] = [];
    const calling = lookup.call('alice', ({ name }) => {
      called.push(name);
      if (name === 'a') throw notOwner('alice');
      return 'done';
    });
    await turn();
    expect(called).toEqual(['a']);
    answer(9, next, 9);
    expect(await calling).toBe('done');
    expect(called).toEqual(['a', 'b']);
    await lookup.close();
    expect(runtime.timers).toBe(0);
  });

  it('asks the same owner again after a while, and fails when the look-up is closed', async () => {
    const { lookup, answer, runtime } = bench();
    answer(5, OWNER);
    let calls = 0;
    const calling = lookup.call('alice', () => {
      calls += 1;
      throw notOwner('alice');
    });
    await turn();
    runtime.pass(20);
    await turn();
    expect(calls).toBe(2);
    const failing = expect(calling).rejects.toMatchObject({ code: 'CLOSED' });
    await lookup.close();
    await failing;
  });
});

describe('a look-up that is closed', () => {
  it('tells those who wait for an owner', async () => {
    const { lookup, answer } = bench();
    answer(5);
    const failing = expect(lookup.whenFound('alice')).rejects.toMatchObject({ code: 'CLOSED' });
    await lookup.close();
    await failing;
  });
});

describe('a weak find', () => {
  it('names the owner with its number, as any find, if there is one', () => {
    const { lookup, answer } = bench();
    answer(3, OWNER);
    expect(lookup.find('alice', { weak: true })).toEqual({ ...OWNER, number: 3 });
  });

  it('names the last owner under no number if there is none, which only those are told who ask for it', () => {
    const { lookup, answer } = bench();
    answer(3, OWNER);
    answer(4, undefined, 4);
    expect(lookup.find('alice')).toBeUndefined();
    expect(lookup.find('alice', { weak: false })).toBeUndefined();
    expect(lookup.find('alice', { weak: true })).toEqual({ ...OWNER, number: 0 });
  });

  it('names nobody if nobody was ever heard of', () => {
    const { lookup, answer } = bench();
    expect(lookup.find('alice', { weak: true })).toBeUndefined();
    answer(3);
    expect(lookup.find('alice', { weak: true })).toBeUndefined();
  });

  it('is refused with another option than there is', () => {
    const { lookup } = bench();
    expect(() => lookup.find('alice', { weak: 'yes' } as never)).toThrow('weak');
  });

  it('makes a call that nobody would have been called by', async () => {
    const { lookup, answer } = bench();
    answer(3, OWNER);
    answer(4, undefined, 4);
    const url = await lookup.call('alice', (owner) => `${owner.url} ${owner.number}`, { weak: true });
    expect(url).toBe('http://a 0');
  });
});
