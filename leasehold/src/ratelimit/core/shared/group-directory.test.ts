import { describe, expect, it } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import { resolveRate } from '../local/rate.ts';
import type { Right } from './directory.ts';
import { GroupDirectory, type GroupStanding } from './group-directory.ts';
import { Sharer } from './sharer.ts';
import { SlotOwners, slotOf } from './slots.ts';
import { LOAN_MS } from './timing.ts';

const NAMES = ['a', 'b', 'c', 'd'];
const ownerOf = (key: string, members: readonly string[]): string | undefined =>
  new SlotOwners(members).ownerOf(slotOf('api', key));
/** A key with these owners in these sets of members. */
function keyOf(...wanted: readonly (readonly [members: string, owner: string])[]): string {
  for (let at = 0; at < 10_000; at += 1) {
    if (wanted.every(([members, owner]) => ownerOf(`key-${at}`, [...members]) === owner)) return `key-${at}`;
  }
  throw new Error('there is no such key');
}

const keyOfView = (members: string, sharers: string): string =>
  sharers === members ? members : `${members}, ${sharers}`;

/** Server a of a group of four. */
class Scene {
  ms = 0;
  now: GroupStanding = { standing: 'none', view: undefined, chain: [] };
  readonly directory: GroupDirectory = new GroupDirectory({
    name: 'a',
    maxServers: 4,
    standing: () => this.now,
  });
  #views = 0;

  /** A new view: its members, those of them that were kept, the chain, and the members that share limits. */
  view(
    standing: GroupStanding['standing'],
    members: string,
    kept = 'a',
    chain: readonly string[] = [],
    sharers = members,
  ): void {
    this.#views += 1;
    const view = { id: String(this.#views), key: keyOfView(members, sharers), members: [...members] };
    const chained = chain.map((key) => ({ key }));
    this.now = { standing, view: { ...view, sharers: [...sharers], kept: [...kept] }, chain: chained };
    this.directory.wake(instant(this.ms));
  }

  standing(standing: GroupStanding['standing']): void {
    this.now = { ...this.now, standing };
  }

  right(key: string, afterMs = 0): Right | undefined {
    this.ms += afterMs;
    return this.directory.rightTo('api', key, instant(this.ms));
  }
}

describe('a server of a group', () => {
  const mine = keyOf(['abcd', 'a'], ['abc', 'a'], ['ab', 'a']);

  it('mints its keys for the members of the view, once the view acts and loans of others are void', () => {
    const scene = new Scene();
    scene.view('none', 'abcd');
    expect(scene.right(mine)).toBeUndefined();
    scene.standing('acts');
    expect(scene.right(mine)).toMatchObject({ share: 1, isOpen: false });
    expect(scene.right(mine, LOAN_MS - 1)).toMatchObject({ isOpen: false });
    expect(scene.right(mine, 1)).toMatchObject({ share: 1, isOpen: true });
    expect(scene.right(keyOf(['abcd', 'b']))).toBeUndefined();
    expect(scene.directory.find('api', mine)).toBeUndefined();
    expect(scene.directory.find('api', keyOf(['abcd', 'b']))).toBe('b');
  });

  it('counts by a clock that runs as fast as its part, and stands still without a right', () => {
    const scene = new Scene();
    scene.view('acts', 'ab');
    const from = scene.right(mine)?.at ?? Number.NaN;
    expect(scene.right(mine, 1_000)).toMatchObject({ at: from + 500, share: 0.5 });
    scene.view('none', 'abc');
    expect(scene.right(mine, 5_000)).toBeUndefined();
    scene.standing('acts');
    expect(scene.right(mine)).toMatchObject({ at: from + 500, share: 0.75 });
  });

  it('goes on at once after a crash, for the members that it kept, with its bucket cut to them', () => {
    const scene = new Scene();
    scene.view('acts', 'abcd');
    const since = scene.right(mine)?.since;
    scene.right(mine, 10_000);
    scene.view('continues', 'abc', 'ab', ['abcd']);
    expect(scene.right(mine)).toMatchObject({ share: 0.5, since, isOpen: true });
    scene.standing('acts');
    const right = scene.right(mine, 100);
    expect(right).toMatchObject({ share: 0.75, since, isOpen: true });
    expect(right?.cuts.map(({ share }) => share)).toEqual([0.5]);
  });

  it('begins anew with a key that another server owned in between', () => {
    const key = keyOf(['ab', 'a'], ['abc', 'c'], ['abd', 'a']);
    const scene = new Scene();
    scene.view('acts', 'ab');
    const since = scene.right(key)?.since ?? Number.NaN;
    scene.right(key, 10_000);
    scene.view('none', 'abc');
    scene.view('continues', 'abd', 'ab', ['ab', 'abc']);
    expect(scene.right(key)).toBeUndefined();
    scene.standing('acts');
    const right = scene.right(key, 100);
    expect(right).toMatchObject({ share: 0.75, isOpen: false, cuts: [] });
    expect(right?.since).toBeGreaterThan(since);
  });

  it('owns keys only while it shares limits, and finds no owner while no server shares', () => {
    const key = keyOf(['abcd', 'b'], ['acd', 'a']);
    const scene = new Scene();
    scene.view('acts', 'abcd');
    scene.right(key, 10_000);
    expect(scene.right(key)).toBeUndefined();
    expect(scene.directory.find('api', key)).toBe('b');
    scene.view('acts', 'abcd', 'abcd', ['abcd'], 'acd');
    expect(scene.right(key)).toMatchObject({ share: 1, isOpen: false });
    expect(scene.directory.find('api', key)).toBeUndefined();
    expect(scene.directory.isReady(instant(scene.ms))).toBe(false);
    expect(scene.directory.isReady(instant(scene.ms + LOAN_MS))).toBe(true);
    scene.view('acts', 'abcd', 'abcd', ['abcd, acd'], 'cd');
    expect(scene.right(key, LOAN_MS)).toBeUndefined();
    expect(scene.directory.isReady(instant(scene.ms))).toBe(false);
    scene.view('acts', 'abcd', 'abcd', ['abcd, cd'], '');
    expect([scene.right(key), scene.directory.find('api', key)]).toEqual([undefined, undefined]);
  });

  it('begins anew with a key after a view of which it does not know the sharers', () => {
    const scene = new Scene();
    scene.view('acts', 'abcd');
    const since = scene.right(mine)?.since;
    scene.right(mine, 10_000);
    scene.view('acts', 'abcd', 'abcd', ['abcd', 'never seen'], 'abc');
    expect(scene.right(mine)).toMatchObject({ isOpen: false });
    expect(scene.right(mine)?.since).not.toBe(since);
  });

  it('has the burst of the kept members only, in a view that acts at once with members from elsewhere', () => {
    const scene = new Scene();
    const rate = resolveRate({ limit: 40, burst: 40 });
    const limits = new Sharer(scene.directory);
    const limiter = limits.add({
      ...{ name: 'api', rate, whenLost: 'full', whenCutOff: { kind: 'closed' } },
      ...{ askTimeoutMs: 80, maxKeys: 10, whenFull: 'deny' },
    });
    scene.view('acts', 'abcd');
    scene.right(mine);
    expect(scene.right(mine, 10_000)).toMatchObject({ share: 1, isOpen: true });
    // b and c act without a meanwhile, and spend their part of the burst; d is gone.
    scene.standing('none');
    scene.ms += 5_000;
    scene.view('acts', 'abc', 'a', ['abcd']);
    const take = (): boolean => limiter.decide(mine, 1, rate, instant(scene.ms))?.allowed === true;
    expect(Array.from({ length: 40 }, take).filter((isAllowed) => isAllowed)).toHaveLength(10);
  });

  it('remembers a small cut beside a later one to more, and forgets a cut once a later one is to as much or less', () => {
    const scene = new Scene();
    const shares = (): unknown => scene.right(mine)?.cuts.map(({ share }) => share);
    scene.view('acts', 'abcd');
    scene.right(mine);
    scene.right(mine, 10_000);
    scene.view('continues', 'abc', 'a', ['abcd']);
    scene.standing('acts');
    expect(scene.right(mine, 100)).toMatchObject({ share: 0.75, cuts: [{ share: 0.25 }] });
    // From 3/4 to 1/2: the bucket is still no larger than what a quarter has gained since.
    scene.view('continues', 'abc', 'ab', ['abc']);
    expect(shares()).toEqual([0.25, 0.5, 0.75]);
    scene.view('continues', 'ab', 'a', ['abc']);
    expect(shares()).toEqual([0.25, 0.5]);
  });

  it('gains no tokens by a later cut to more', () => {
    const scene = new Scene();
    const rate = resolveRate({ limit: 40, per: 3_600_000, burst: 40 });
    const limiter = new Sharer(scene.directory).add({
      ...{ name: 'api', rate, whenLost: 'full', whenCutOff: { kind: 'closed' } },
      ...{ askTimeoutMs: 80, maxKeys: 10, whenFull: 'deny' },
    });
    const take = (): boolean => limiter.decide(mine, 1, rate, instant(scene.ms))?.allowed === true;
    scene.view('acts', 'abcd');
    scene.right(mine);
    scene.right(mine, 10_000);
    scene.view('continues', 'abc', 'a', ['abcd']);
    scene.standing('acts');
    scene.right(mine, 100);
    scene.view('continues', 'abc', 'ab', ['abc']);
    expect(Array.from({ length: 40 }, take).filter((isAllowed) => isAllowed)).toHaveLength(10);
  });

  it('begins anew with a key that it last minted before the views of its chain', () => {
    const scene = new Scene();
    scene.view('acts', 'abcd');
    scene.right(mine);
    scene.right(mine, 10_000);
    // The hold of abc ends although the view is never confirmed; before it, another server may have minted the key.
    scene.view('none', 'abc');
    expect(scene.right(mine, 5_000)).toBeUndefined();
    scene.view('continues', 'ab', 'ab', ['abc']);
    expect(scene.right(mine)).toBeUndefined();
    scene.standing('acts');
    expect(scene.right(mine)).toMatchObject({ isOpen: false });
  });

  it('begins anew when its chain is not known', () => {
    const scene = new Scene();
    scene.view('acts', 'abcd');
    scene.right(mine, 10_000);
    scene.view('acts', 'abc', 'a', []);
    expect(scene.right(mine)).toMatchObject({ isOpen: false });
  });

  it('goes on in a view that is confirmed again after a lapse', () => {
    const scene = new Scene();
    scene.view('acts', 'abcd');
    const since = scene.right(mine)?.since;
    scene.standing('none');
    expect(scene.right(mine, 1_000)).toBeUndefined();
    scene.standing('acts');
    expect(scene.right(mine, 1_000)).toMatchObject({ since, isOpen: true });
  });

  it('counts with the greatest maxServers that it has heard of, and with all members that it sees', () => {
    const scene = new Scene();
    scene.view('acts', 'abcd');
    scene.directory.heardMaxServers(8);
    expect(scene.right(mine)?.share).toBe(0.5);
    scene.directory.heardMaxServers(2);
    expect(scene.right(mine)?.share).toBe(0.5);
    const many = [...'abcdefghij'];
    scene.view('acts', many.join(''));
    expect(scene.right(keyOf([many.join(''), 'a']))?.share).toBe(1);
    scene.view('acts', 'abcd');
    expect(scene.right(mine)?.share).toBe(0.4);
  });
});

describe('a server of a group without requests', () => {
  it('looks at its standing all the same, so that the first request finds an owner that may mint', () => {
    const scene = new Scene();
    const limits = new Sharer(scene.directory);
    const limiter = limits.add({
      ...{ name: 'api', rate: resolveRate({ limit: 5 }), whenLost: 'full', whenCutOff: { kind: 'closed' } },
      ...{ askTimeoutMs: 80, maxKeys: 10, whenFull: 'deny' },
    });
    limits.directoryChanged(instant(0));
    scene.view('acts', 'abcd');
    for (let wakes = 0; wakes < 10; wakes += 1) limits.wake(limits.wakeAt ?? instant(Number.NaN));
    const key = keyOf(['abcd', 'a']);
    expect(limiter.decide(key, 1, limiter.options.rate, instant(1_001))).toMatchObject({
      allowed: true,
      by: 'owner',
    });
  });
});

describe('the owners of slots', () => {
  it('are all members, with about as many keys each', () => {
    const counts = new Map<string | undefined, number>();
    for (let key = 0; key < 4_000; key += 1) {
      const owner = ownerOf(`key-${key}`, NAMES);
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual(NAMES);
    for (const count of counts.values()) expect(count).toBeGreaterThan(700);
  });

  it('stay the same when another member goes', () => {
    for (let key = 0; key < 500; key += 1) {
      const owner = ownerOf(`key-${key}`, NAMES);
      if (owner !== 'd') expect(ownerOf(`key-${key}`, ['a', 'b', 'c'])).toBe(owner);
    }
  });
});
