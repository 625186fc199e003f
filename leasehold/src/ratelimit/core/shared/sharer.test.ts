import { describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../../runtime/time.ts';
import { resolveRate } from '../local/rate.ts';
import type { RateLimitResult } from '../local/result.ts';
import { type Directory, type Right, wholeRight } from './directory.ts';
import type { SharerEffect } from './effects.ts';
import { HAND_OVER_MS } from './hand-over.ts';
import type { Ask } from './messages.ts';
import { Sharer } from './sharer.ts';
import type { SharedLimiter, SharedLimiterOptions } from './shared-limiter.ts';
import { GRANT_MS, LOAN_MS } from './timing.ts';

const rate = resolveRate({ limit: 10, burst: 8 });
const OPEN = Math.ceil(LOAN_MS);

/** Two processes: ada holds every key, ben borrows. */
class Pair {
  readonly settled = new Map<number, RateLimitResult>();
  readonly effects: SharerEffect[] = [];
  holder: 'ada' | undefined = 'ada';
  now = instant(OPEN);
  isCut = false;
  readonly ada: Sharer;
  readonly ben: Sharer;

  constructor(
    options: Partial<SharedLimiterOptions> = {},
    adaOptions: Partial<SharedLimiterOptions> = {},
    more: { readonly ada?: Partial<Directory>; readonly ben?: Partial<Directory> } = {},
  ) {
    const rightTo = (_limiter: string, _key: string, now: Instant): Right | undefined =>
      this.holder === 'ada' ? wholeRight(instant(0), now) : undefined;
    this.ada = new Sharer({ rightTo, find: () => undefined, ...more.ada });
    this.ben = new Sharer({ rightTo: () => undefined, find: () => this.holder, ...more.ben });
    const common: SharedLimiterOptions = {
      ...{ name: 'api', rate, whenLost: 'full', whenCutOff: { kind: 'closed' }, askTimeoutMs: 100 },
      ...{ maxKeys: 100, whenFull: 'deny' },
    };
    this.ada.add({ ...common, ...options, ...adaOptions });
    this.ben.add({ ...common, ...options });
  }

  consume(process: 'ada' | 'ben', id: number, cost = 1, key = 'ann'): RateLimitResult | undefined {
    const limiter = this[process].limiters.get('api');
    this.#do(process, limiter?.consume(key, id, cost, limiter.options.rate, this.now) ?? []);
    return this.settled.get(id);
  }

  /** A request of ben that does not wait. */
  tryConsume(cost = 1, key = 'ann'): RateLimitResult {
    const limiter = this.ben.limiters.get('api') as SharedLimiter;
    const decided = limiter.decide(key, cost, rate, this.now);
    const result = decided ?? limiter.resultWithoutWaiting(key, rate, this.now);
    if (decided === undefined) this.#do('ben', limiter.borrow(key, cost, rate, this.now));
    return result;
  }

  benDoes(input: (limiter: SharedLimiter, now: Instant) => SharerEffect[]): void {
    this.#do('ben', input(this.ben.limiters.get('api') as SharedLimiter, this.now));
  }

  wakeBen(ms: number): void {
    this.now = instant(this.now + ms);
    this.#do('ben', this.ben.wake(this.now));
  }

  /** News of the address of ada, for ben. */
  benHears(what: 'ownerLost' | 'ownerGone' | 'ownerBack'): void {
    this.#do('ben', this.ben[what]('ada', this.now));
  }

  asks(): readonly Ask[] {
    return this.effects.flatMap((effect) => (effect.do === 'ask' ? [effect.ask] : []));
  }

  #do(from: 'ada' | 'ben', effects: readonly SharerEffect[]): void {
    for (const effect of effects) {
      this.effects.push(effect);
      if (effect.do === 'settle') this.settled.set(effect.id, effect.result);
      if (this.isCut) continue;
      if (effect.do === 'ask') this.#do('ada', this.ada.receiveAsk(from, effect.ask, this.now));
      if (effect.do === 'answer') this.#do('ben', this.ben.receiveAnswer(effect.answer, this.now));
    }
  }
}

describe('a key that is handed over', () => {
  const give = (pair: Pair, page: SharerEffect): SharerEffect[] => {
    if (page.do !== 'hand-over') throw new Error('that is no hand-over');
    return pair.ben.receiveHandOver('ada', page.page, pair.now);
  };
  const leaving = (more: Partial<Directory> = {}): Pair => {
    const heir = { to: 'ben', scope: 'all', ageMs: 10_000, cuts: [], has: () => true };
    let taken: Instant | undefined;
    let named = false;
    return new Pair(
      {},
      {},
      {
        ada: { heirs: () => (named ? [] : ((named = true), [heir])) },
        ben: {
          mayTake: (_from, _scope, now) => now,
          take: (_from, _scope, ageMs, _cuts, now) => (taken = instant(now - ageMs)),
          rightTo: (_limiter, _key, now) => (taken === undefined ? undefined : wholeRight(taken, now)),
          ...more,
        },
      },
    );
  };

  it('has at its next owner the tokens that it had, less those that were lent, and the owner that left mints none', () => {
    const pair = leaving();
    expect(pair.consume('ben', 1, 2)).toMatchObject({ by: 'batch' });
    expect(pair.consume('ada', 2, 3)).toMatchObject({ by: 'owner', remaining: 3 });
    const [page] = pair.ada.leave(pair.now);
    expect(pair.ada.rightTo('api', 'ann', pair.now)).toBeUndefined();
    if (page !== undefined) give(pair, page);
    expect(pair.consume('ben', 3, 4)).toMatchObject({ allowed: false, by: 'owner', denied: 'rate' });
    expect(pair.consume('ben', 4, 3)).toMatchObject({ allowed: true, by: 'owner', remaining: 0 });
  });

  it('is sent again until its next owner has confirmed, and not after the time in which a third owner cannot have minted', () => {
    const pair = leaving();
    const [page] = pair.ada.leave(pair.now);
    expect(pair.ada.isHandingOver).toBe(true);
    pair.now = instant(pair.now + 50);
    const again = pair.ada.wake(pair.now);
    expect(again).toEqual([page]);
    const [confirmed] = page === undefined ? [] : give(pair, page);
    if (confirmed?.do === 'answer') pair.ada.receiveAnswer(confirmed.answer, pair.now);
    expect(pair.ada.isHandingOver).toBe(false);
    const late = leaving();
    late.ada.leave(late.now);
    expect(late.ada.wake(instant(late.now + HAND_OVER_MS))).toEqual([]);
  });

  it('is not taken over while a page of its hand-over is missing', () => {
    const pair = leaving();
    for (let at = 0; at < 90; at += 1) pair.consume('ada', at, 2, `${at}`.padEnd(500, 'k'));
    const pages = pair.ada.leave(pair.now);
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages.slice(1)) give(pair, page);
    expect(pair.ben.rightTo('api', 'ann', pair.now)).toBeUndefined();
    for (const page of pages.slice(0, 1)) give(pair, page);
    expect(pair.ben.rightTo('api', 'ann', pair.now)).toBeDefined();
    expect(pair.consume('ben', 100, 7, '7'.padEnd(500, 'k'))).toMatchObject({ denied: 'rate' });
  });

  it('is not taken over by a process that has no room to remember its level', () => {
    const pair = leaving();
    for (let at = 0; at < 90; at += 1) pair.consume('ada', at, 1, `key ${at}`);
    for (let at = 0; at < 90; at += 1)
      pair.ben.limiters
        .get('api')
        ?.minter.consume(`other ${at}`, 1, rate, wholeRight(instant(0), pair.now), 'full');
    for (const page of pair.ada.leave(pair.now)) give(pair, page);
    expect(pair.ben.rightTo('api', 'ann', pair.now)).toBeUndefined();
  });
});

describe('a key that another process owns', () => {
  it('is counted by the limit of its owner, where a mistaken process was made with another', () => {
    const pair = new Pair({ rate: resolveRate({ limit: 1, per: '1h', burst: 8 }) }, { rate });
    expect(pair.consume('ben', 1, 8)).toMatchObject({ allowed: true });
    pair.now = instant(pair.now + 2_000);
    expect(pair.consume('ada', 2, 7)).toMatchObject({ allowed: true, by: 'owner' });
  });

  it('is decided with tokens that the owner lends', () => {
    const pair = new Pair();
    expect(pair.consume('ben', 1)).toMatchObject({ allowed: true, by: 'batch' });
    expect(pair.consume('ada', 2, 7)).toMatchObject({ allowed: true, by: 'owner' });
    expect(pair.consume('ada', 3)).toMatchObject({ allowed: false, by: 'owner', denied: 'rate' });
  });

  it('is denied without a message until the owner may have tokens again', () => {
    const pair = new Pair();
    pair.consume('ada', 1, 8);
    expect(pair.consume('ben', 2)).toMatchObject({ allowed: false, by: 'cached', retryAfterMs: 100 });
    const asks = pair.asks().length;
    for (let id = 3; id < 1_000; id += 1) expect(pair.consume('ben', id)?.allowed).toBe(false);
    expect(pair.asks()).toHaveLength(asks);
    pair.now = instant(pair.now + 101);
    expect(pair.consume('ben', 1_000)?.allowed).toBe(true);
  });

  it('stays blocked until the time is over or the key is reset, whatever the owner answers', () => {
    const pair = new Pair();
    const limiter = pair.ben.limiters.get('api') as SharedLimiter;
    pair.isCut = true;
    pair.consume('ben', 1);
    limiter.block('ann', 60_000, rate, pair.now);
    pair.isCut = false;
    for (const ask of pair.asks())
      for (const effect of pair.ada.receiveAsk('ben', ask, pair.now))
        if (effect.do === 'answer') pair.ben.receiveAnswer(effect.answer, pair.now);
    expect(pair.consume('ben', 2)).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    limiter.suspended(pair.now);
    expect(pair.tryConsume()).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    limiter.reset('ann', pair.now);
    expect(pair.consume('ben', 3)).toMatchObject({ allowed: true });
  });

  it('may be charged the whole burst at once', () => {
    expect(new Pair().consume('ben', 1, 8)).toMatchObject({ allowed: true, by: 'batch' });
  });

  it('is refused for good if the cost is above the burst', () => {
    expect(new Pair().consume('ben', 1, 9)).toMatchObject({
      denied: 'cost',
      retryAfterMs: Number.POSITIVE_INFINITY,
    });
  });

  it('is decided by whenCutOff after askTimeoutMs, and then at once, until the owner answers', () => {
    const pair = new Pair();
    pair.isCut = true;
    expect(pair.consume('ben', 1)).toBeUndefined();
    pair.wakeBen(100);
    expect(pair.settled.get(1)).toMatchObject({ allowed: false, by: 'closed', denied: 'cut-off' });
    expect(pair.consume('ben', 2)).toMatchObject({ by: 'closed' });
    pair.isCut = false;
    pair.now = instant(pair.now + GRANT_MS);
    pair.consume('ben', 3);
    expect(pair.consume('ben', 4)).toMatchObject({ allowed: true, by: 'batch' });
  });

  it('waits as long as its caller says, also behind one that waits longer', () => {
    const pair = new Pair();
    pair.isCut = true;
    pair.consume('ben', 1);
    pair.benDoes((limiter, now) => limiter.wait('ann', 2, 1, rate, now, 30));
    pair.wakeBen(30);
    expect([1, 2].map((id) => pair.settled.has(id))).toEqual([false, true]);
    pair.wakeBen(70);
    expect(pair.settled.get(1)).toMatchObject({ by: 'closed' });
  });

  it('takes nothing once its caller has given up, and the tokens serve the next request', () => {
    const pair = new Pair();
    pair.now = instant(OPEN - 30);
    pair.consume('ben', 1);
    pair.consume('ben', 2);
    pair.benDoes((limiter) => limiter.giveUp('ann', 1));
    pair.wakeBen(40);
    expect([1, 2].map((id) => pair.settled.get(id)?.allowed)).toEqual([undefined, true]);
    pair.wakeBen(100);
    expect(pair.settled.has(1)).toBe(false);
  });

  it('gets 1/maxServers of the limit when cut off, if that is wanted', () => {
    const pair = new Pair({ whenCutOff: { kind: 'share', maxServers: 4, forMs: 1_000 } });
    pair.isCut = true;
    for (let id = 1; id <= 3; id += 1) pair.consume('ben', id);
    pair.wakeBen(100);
    const answers = [1, 2, 3].map((id) => pair.settled.get(id));
    expect(answers.map((answer) => answer?.allowed)).toEqual([true, true, false]);
    expect(answers[2]).toMatchObject({ by: 'share', denied: 'cut-off' });
  });

  it('is open for a time when cut off, if that is wanted, and then closed', () => {
    const pair = new Pair({ whenCutOff: { kind: 'open', factor: 1, forMs: 1_000 } });
    pair.isCut = true;
    pair.consume('ben', 1);
    pair.wakeBen(100);
    expect(pair.settled.get(1)).toMatchObject({ allowed: true, by: 'open' });
    pair.now = instant(pair.now + 999);
    expect(pair.consume('ben', 2)).toMatchObject({ allowed: true, by: 'open' });
    pair.now = instant(pair.now + 1);
    expect(pair.consume('ben', 3)).toMatchObject({ allowed: false, by: 'closed' });
  });

  it('waits for a new owner, which mints nothing while tokens of the last owner may be in use', () => {
    const pair = new Pair();
    pair.now = instant(OPEN - 30);
    expect(pair.consume('ben', 1)).toBeUndefined();
    pair.wakeBen(20);
    expect(pair.settled.get(1)).toBeUndefined();
    pair.wakeBen(20);
    expect(pair.settled.get(1)).toMatchObject({ allowed: true });
  });

  it('is empty at a new owner that is to start so', () => {
    const pair = new Pair({ whenLost: 'empty' });
    expect(pair.consume('ada', 1)).toMatchObject({ allowed: false });
    pair.now = instant(pair.now + 101);
    expect(pair.consume('ada', 2)).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('gets back tokens of a batch that is still alive, and no others', () => {
    const pair = new Pair();
    pair.consume('ben', 1, 2);
    pair.ben.limiters.get('api')?.refund('ann', 1, rate, pair.now);
    expect(pair.ben.limiters.get('api')?.peek('ann', rate, pair.now).remaining).toBeLessThanOrEqual(7);
    pair.now = instant(pair.now + GRANT_MS);
    pair.ben.limiters.get('api')?.refund('ann', 1, rate, pair.now);
    expect(pair.consume('ada', 2, 8)?.allowed).toBe(false);
  });
});

describe('a request that does not wait, for a key that another process owns', () => {
  it.each([1, 3, 8])('is denied at first, and borrows what the next one of cost %i needs', (cost) => {
    const pair = new Pair();
    expect(pair.tryConsume(cost)).toMatchObject({ allowed: false, denied: 'cut-off', by: 'closed' });
    expect(pair.tryConsume(cost)).toMatchObject({ allowed: true, by: 'batch' });
  });

  it('is told to come again while the tokens that it borrowed are there', () => {
    const pair = new Pair({ askTimeoutMs: 2_000 });
    const { retryAfterMs } = pair.tryConsume();
    pair.now = instant(pair.now + retryAfterMs);
    expect(pair.tryConsume()).toMatchObject({ allowed: true, by: 'batch' });
  });

  it('is denied by the owner like any other, and admitted when the owner has tokens again', () => {
    const pair = new Pair();
    pair.consume('ada', 1, 8);
    pair.tryConsume();
    expect(pair.tryConsume()).toMatchObject({ allowed: false, by: 'cached', denied: 'rate' });
    pair.now = instant(pair.now + 101);
    pair.tryConsume();
    expect(pair.tryConsume()).toMatchObject({ allowed: true, by: 'batch' });
  });

  it('is decided by whenCutOff when no owner answered for askTimeoutMs, until one answers', () => {
    const pair = new Pair({ whenCutOff: { kind: 'open', factor: 1, forMs: 10_000 } });
    pair.isCut = true;
    pair.tryConsume();
    pair.now = instant(pair.now + 100);
    pair.tryConsume();
    expect(pair.tryConsume()).toMatchObject({ allowed: true, by: 'open' });
    pair.isCut = false;
    pair.now = instant(pair.now + GRANT_MS);
    pair.consume('ben', 1);
    expect(pair.tryConsume()).toMatchObject({ allowed: true, by: 'batch' });
  });

  it('is admitted in a flood of keys that are used once, by the owner and by borrowers, while a key without tokens keeps its debt', () => {
    const hourly = resolveRate({ limit: 5, per: '1h' });
    const pair = new Pair({ maxKeys: 50, rate: hourly });
    let id = 0;
    const ask = (process: 'ada' | 'ben', key: string, cost = 1): RateLimitResult | undefined => {
      pair.now = instant(pair.now + 1);
      return pair.consume(process, (id += 1), cost, key);
    };
    for (const process of ['ada', 'ben'] as const)
      expect(ask(process, `${process} spends`, 5)?.allowed).toBe(true);
    for (let at = 0; at < 500; at += 1) {
      expect(ask('ada', `random ${at}`)?.allowed).toBe(true);
      expect(ask('ben', `also random ${at}`)?.allowed).toBe(true);
    }
    for (const process of ['ada', 'ben'] as const)
      expect(ask('ada', `${process} spends`)).toMatchObject({ allowed: false, denied: 'rate' });
    expect(pair.ada.limiters.get('api')?.minter.levels.keys).toBeLessThanOrEqual(50);
  });

  it('is told to come again soon when there is no room', () => {
    const hourly = resolveRate({ limit: 5, per: '1h' });
    const pair = new Pair({ rate: hourly }, { maxKeys: 2 });
    for (const key of ['ann', 'bob']) pair.consume('ada', 1, 5, key);
    expect(pair.consume('ada', 2, 1, 'eve')).toMatchObject({ denied: 'full', retryAfterMs: 1_000 });
    expect(pair.consume('ben', 3, 1, 'eve')).toMatchObject({ allowed: false, retryAfterMs: 1_000 });
  });

  it('makes no key beyond maxKeys', () => {
    const pair = new Pair({ maxKeys: 2 });
    for (const key of ['ann', 'bob', 'eve', 'kim']) pair.tryConsume(1, key);
    expect(pair.ben.limiters.get('api')?.keys).toBe(2);
    expect(pair.tryConsume(1, 'eve')).toMatchObject({ allowed: false, denied: 'full' });
  });
});

describe('an owner whose process has ended', () => {
  it('keeps no request waiting once its address refuses connections', () => {
    const pair = new Pair({ whenCutOff: { kind: 'open', factor: 1, forMs: 10_000 } });
    pair.isCut = true;
    expect(pair.consume('ben', 1)).toBeUndefined();
    pair.benHears('ownerLost');
    expect(pair.consume('ben', 1)).toBeUndefined();
    pair.benHears('ownerGone');
    expect(pair.settled.get(1)).toMatchObject({ allowed: true, by: 'open' });
    expect(pair.consume('ben', 2, 1, 'bob')).toMatchObject({ allowed: true, by: 'open' });
  });

  it('is asked again when there is a connection again', () => {
    const pair = new Pair();
    pair.isCut = true;
    pair.benHears('ownerGone');
    expect(pair.consume('ben', 1)).toMatchObject({ allowed: false, denied: 'cut-off' });
    pair.benHears('ownerBack');
    pair.isCut = false;
    expect(pair.consume('ben', 2, 1, 'bob')).toMatchObject({ allowed: true, by: 'batch' });
    pair.now = instant(pair.now + GRANT_MS);
    pair.consume('ben', 3);
    expect(pair.consume('ben', 4)).toMatchObject({ allowed: true, by: 'batch' });
  });

  it('keeps requests waiting no longer than askTimeoutMs if its address only became silent', () => {
    const pair = new Pair();
    pair.isCut = true;
    pair.consume('ben', 1);
    pair.benHears('ownerLost');
    pair.wakeBen(99);
    expect(pair.settled.has(1)).toBe(false);
    pair.wakeBen(1);
    expect(pair.settled.get(1)).toMatchObject({ allowed: false, denied: 'cut-off' });
  });
});

describe('a batch', () => {
  /** The asks of ben in half a second of requests. */
  const wantsOf = (limit: number, everyMs = 1, each = 2): readonly number[] => {
    const pair = new Pair({ rate: resolveRate({ limit, burst: limit }) });
    for (let ms = 0, id = 1; ms < 500; ms += everyMs) {
      pair.now = instant(pair.now + everyMs);
      for (let count = 0; count < each; count += 1, id += 1) pair.consume('ben', id);
    }
    return pair.asks().map(({ want }) => want);
  };

  it('has tokens for 100 ms, and for 250 ms if the owner has plenty', () => {
    expect(wantsOf(3_000).at(-1)).toBeGreaterThan(150);
    expect(wantsOf(3_000).at(-1)).toBeLessThan(250);
    expect(wantsOf(20_000).at(-1)).toBeGreaterThan(400);
    expect(wantsOf(20_000).at(-1)).toBeLessThan(600);
  });

  it('has at least the tokens that come back in 25 ms, if the owner has plenty, and is asked for in good time', () => {
    const wants = wantsOf(20_000, 20, 1);
    expect(wants.slice(0, 3)).toEqual([1, 500, 500]);
    expect(wants.length).toBeLessThan(6);
  });
});

describe('processes that share limits', () => {
  it('report a limiter of the same name that was made with another limit, once', () => {
    const pair = new Pair({}, { rate: resolveRate({ limit: 20, burst: 8 }) });
    pair.consume('ben', 1, 8);
    pair.now = instant(pair.now + 500);
    pair.consume('ben', 2);
    const differences = pair.effects.filter(({ do: what }) => what === 'differs');
    expect(differences).toMatchObject([{ limiter: 'api', process: 'ben', ask: { limit: 10 } }]);
  });

  it('mint for a limiter that they do not have, and go on with it when they make one', () => {
    const pair = new Pair();
    const ask = { ...pair.asks()[0], id: 1, limiter: 'other', key: 'ann', limit: 10, perMs: 1_000, burst: 8 };
    const message: Ask = {
      kind: 'ask',
      ...ask,
      isDefault: true,
      whenLost: 'full',
      maxServers: 0,
      need: 8,
      want: 8,
      left: [],
    };
    expect(pair.ada.receiveAsk('ben', message, pair.now)).toMatchObject([{ answer: { kind: 'grant' } }]);
    const options = pair.ada.limiters.get('api')?.options as SharedLimiterOptions;
    const made = pair.ada.add({ ...options, name: 'other' });
    expect(made.decide('ann', 1, rate, pair.now)?.allowed).toBe(false);
  });

  it('have one limiter of each name', () => {
    const pair = new Pair();
    const options = pair.ada.limiters.get('api')?.options as SharedLimiterOptions;
    expect(() => pair.ada.add(options)).toThrow('already has a limiter of that name');
  });
});

describe('a denial', () => {
  const slow = resolveRate({ limit: 100, per: '1d' });

  it('of a large request keeps no tokens from small requests of other processes', () => {
    const pair = new Pair({ rate: slow });
    pair.consume('ada', 1, 50);
    expect(pair.consume('ben', 2, 100)).toMatchObject({ allowed: false });
    pair.wakeBen(60_000);
    expect(pair.consume('ada', 3)).toMatchObject({ allowed: true });
  });

  it('of one token keeps the next token for the process that was denied first, however slowly tokens come', () => {
    const pair = new Pair({ rate: slow });
    pair.consume('ada', 1, 100);
    expect(pair.consume('ben', 2)).toMatchObject({ allowed: false });
    pair.wakeBen(slow.msPerToken + 1);
    expect(pair.consume('ada', 3)).toMatchObject({ allowed: false });
    expect(pair.consume('ben', 4)).toMatchObject({ allowed: true });
  });

  it('of a part of a token costs one ask, and is no cut-off', () => {
    const pair = new Pair({ rate: slow });
    pair.consume('ada', 1, 100);
    for (let id = 2; id < 20; id += 1) {
      expect(pair.consume('ben', id, 0.3)).toMatchObject({ allowed: false, denied: 'rate' });
    }
    expect(pair.asks()).toHaveLength(1);
  });

  it('is believed for 3 s, and then the owner is asked, whose key may have been reset meanwhile', () => {
    const pair = new Pair({ rate: slow });
    pair.consume('ada', 1, 100);
    pair.consume('ben', 2);
    pair.ada.limiters.get('api')?.reset('ann', pair.now);
    pair.wakeBen(2_999);
    expect(pair.consume('ben', 3)?.retryAfterMs).toBeGreaterThan(800_000);
    pair.wakeBen(1);
    expect(pair.consume('ben', 4)).toMatchObject({ allowed: true });
  });
});

describe('a block', () => {
  it('lasts as long as is said where this process mints a part of the limit', () => {
    const right = (now: Instant): Right => ({
      ...{ at: now / 4, since: -1e9, isOpen: true, share: 1 / 4, cuts: [] },
    });
    const limits = new Sharer({ rightTo: (_limiter, _key, now) => right(now), find: () => undefined });
    const limiter = limits.add({
      ...{ name: 'api', rate, whenLost: 'full', whenCutOff: { kind: 'closed' }, askTimeoutMs: 100 },
      ...{ maxKeys: 100, whenFull: 'deny' },
    });
    limiter.block('ann', 1_000, rate, instant(0));
    const isAllowed = (ms: number): boolean | undefined =>
      limiter.decide('ann', 1, rate, instant(ms))?.allowed;
    expect([isAllowed(990), isAllowed(1_010)]).toEqual([false, true]);
  });
});

describe('the memory of a shared limit', () => {
  it('has room for maxKeys blocked keys of other owners, and says when there is none', () => {
    const limiter = new Pair({ maxKeys: 10 }).ben.limiters.get('api') as SharedLimiter;
    const blocked = Array.from({ length: 20 }, (_, id) => limiter.block(`k${id}`, 60_000, rate, instant(0)));
    expect([blocked.filter(Boolean).length, limiter.keys]).toEqual([10, 10]);
  });

  it('is bounded by maxKeys, too, if others asked before this process made its limiter', () => {
    const pair = new Pair();
    const [ask] = (pair.consume('ben', 1), pair.asks());
    const late = new Sharer({
      rightTo: (_limiter, _key, now) => wholeRight(instant(0), now),
      find: () => undefined,
    });
    const receive = (key: string): string | undefined => {
      const [effect] = late.receiveAsk('ben', { ...(ask as Ask), key, id: 1, need: 2, want: 2 }, pair.now);
      return effect?.do === 'answer' ? effect.answer.kind : undefined;
    };
    for (let id = 0; id < 10; id += 1) expect(receive(`k${id}`)).toBe('grant');
    const options = pair.ben.limiters.get('api')?.options as SharedLimiterOptions;
    late.add({ ...options, maxKeys: 10 });
    expect([receive('k10'), receive('k0')]).toEqual(['denial', 'grant']);
    expect(late.limiters.get('api')?.keys).toBe(10);
  });

  it('keeps no ask of a key that is forgotten', () => {
    const pair = new Pair({ maxKeys: 10 });
    pair.isCut = true;
    for (let id = 0; id < 50; id += 1) {
      pair.tryConsume(1, `k${id}`);
      pair.wakeBen(20_000);
    }
    // Answers that come now count for nobody but the last keys.
    const answered = pair.asks().filter(({ id }) => {
      const limiter = pair.ben.limiters.get('api');
      return limiter?.receiveAnswer({ kind: 'later', id }, pair.now) !== undefined;
    });
    expect(answered.length).toBeLessThanOrEqual(10);
  });

  it('remembers for a minute that a key which was open without its owner is open no more', () => {
    const pair = new Pair({ whenCutOff: { kind: 'open', factor: 1, forMs: 500 } });
    pair.isCut = true;
    let id = 0;
    const ask = (key: string, afterMs: number): RateLimitResult | undefined => {
      id += 1;
      pair.wakeBen(afterMs);
      pair.consume('ben', id, 1, key);
      pair.wakeBen(100);
      return pair.settled.get(id);
    };
    expect([ask('ann', 0)?.by, ask('ann', 600)?.allowed]).toEqual(['open', false]);
    for (let other = 0; other < 5; other += 1) ask(`k${other}`, 10_000);
    expect(ask('ann', 0)?.allowed).toBe(false);
  });
});

describe('differences between processes', () => {
  it('are reported although they were heard before this process made its limiter, and are over when not heard again', () => {
    const pair = new Pair();
    const [ask] = (pair.consume('ben', 1), pair.asks());
    const late = new Sharer({ rightTo: () => undefined, find: () => undefined });
    const differs = (now: number): boolean =>
      late
        .receiveAsk('ben', { ...(ask as Ask), limit: 99 }, instant(now))
        .some((each) => each.do === 'differs');
    expect(differs(0)).toBe(false);
    late.add(pair.ben.limiters.get('api')?.options as SharedLimiterOptions);
    expect([differs(1), differs(2)]).toEqual([true, false]);
    expect(late.stillDiffers('ben', 'api', instant(600_001))).toBe(true);
    expect(late.stillDiffers('ben', 'api', instant(600_002))).toBe(false);
  });
});
