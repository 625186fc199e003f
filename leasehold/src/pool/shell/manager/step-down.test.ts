import { describe, expect, it } from 'vitest';
import { HandMovedRuntime, listeningLogger } from '../../../node/tcp/socket-script.ts';
import { Condition } from '../../../runtime/condition.ts';
import { closed } from '../errors.ts';
import { StepDown } from './step-down.ts';

class Bench {
  readonly runtime = new HandMovedRuntime();
  readonly closing = new AbortController();
  readonly did: string[] = [];
  role: 'leading' | 'standby' = 'leading';
  term = 3;
  isShared = true;
  isOtherThere: Promise<boolean> = Promise.resolve(true);
  full: string | undefined;
  kind: 'etcd' | 'flease' = 'etcd';
  elected: { readonly id: string; readonly term: number } | undefined;
  readonly stepDown: StepDown;
  readonly #waiters = new Condition();

  constructor() {
    const bench = this;
    this.stepDown = new StepDown({
      core: {
        get role() {
          return bench.role;
        },
        term: 3,
        get state() {
          return { term: bench.term } as never;
        },
      },
      driver: {
        stepDown: () => {
          this.role = 'standby';
          this.did.push('withdrew');
        },
        standAgain: () => void this.did.push('stood again'),
      },
      store: {
        get isShared() {
          return bench.isShared;
        },
        whenOther: () => this.isOtherThere,
        fullMember: () => this.full,
        observe: () => ({ kind: this.kind, where: undefined, bytes: undefined, members: [] }),
        get elected() {
          return bench.elected;
        },
      },
      ...{ runtime: this.runtime, logger: listeningLogger(), isOver: this.closing.signal },
      leaderChangeMs: () => 5_000,
      until: (isSo, signal) => this.#waiters.until(() => isSo() || undefined, signal),
    });
  }

  /** Lets what has been begun get as far as it can. */
  async withdrawn(): Promise<void> {
    while (this.did.length === 0) await Promise.resolve();
  }

  anotherLeads(): void {
    this.term += 1;
    this.#waiters.look();
  }

  /** Of Managers that keep nothing: the group says so, and no log. */
  anotherIsElected(): void {
    this.elected = { id: 'other', term: this.term + 1 };
    this.#waiters.look();
  }
}

describe('a leader that steps down', () => {
  it('withdraws, is done when another leads, and stands by for it', async () => {
    const bench = new Bench();
    const done = bench.stepDown.begin();
    await bench.withdrawn();
    expect(bench.did).toEqual(['withdrew']);
    bench.anotherLeads();
    expect(await done).toBe(true);
    expect(bench.did).toEqual(['withdrew', 'stood again']);
    expect(bench.runtime.timers).toBe(0);
  });

  it('is done, where there is no log to say so, when the others have elected one', async () => {
    const bench = new Bench();
    const done = bench.stepDown.begin();
    await bench.withdrawn();
    bench.anotherIsElected();
    expect(await done).toBe(true);
    expect(bench.did).toEqual(['withdrew', 'stood again']);
  });

  it('does it once for all who ask meanwhile', async () => {
    const bench = new Bench();
    const asked = [bench.stepDown.begin(), bench.stepDown.begin()];
    await bench.withdrawn();
    bench.anotherLeads();
    expect(await Promise.all(asked)).toEqual([true, true]);
    expect(bench.did).toEqual(['withdrew', 'stood again']);
    expect(await bench.stepDown.begin()).toBe(false);
  });

  it('stands again if nobody takes over in half of the time that owners have, and does not say that nobody is there', async () => {
    const bench = new Bench();
    const done = bench.stepDown.begin();
    const refused = expect(done).rejects.toMatchObject({
      code: 'ALONE',
      message: expect.stringMatching(
        /no other has taken over within 2\.5 s\. It stands again\. See how the others are/,
      ),
    });
    await bench.withdrawn();
    bench.runtime.pass(2_499);
    expect(bench.did).toEqual(['withdrew']);
    bench.runtime.pass(1);
    await refused;
    expect(bench.did).toEqual(['withdrew', 'stood again']);
  });

  it('leads on if no other is there', async () => {
    const bench = new Bench();
    bench.isOtherThere = Promise.resolve(false);
    await expect(bench.stepDown.begin()).rejects.toThrow(/no other is there\. Start another one/);
    expect(bench.did).toEqual([]);
  });

  it('says nothing of etcd to Managers that elect each other without one', async () => {
    const alone = new Bench();
    alone.kind = 'flease';
    alone.isOtherThere = Promise.resolve(false);
    await expect(alone.stepDown.begin()).rejects.toThrow(/Start another one of its group first/);

    const late = new Bench();
    late.kind = 'flease';
    const refused = expect(late.stepDown.begin()).rejects.toThrow(
      /whether the others are in reach and their clocks/,
    );
    await late.withdrawn();
    late.runtime.pass(2_500);
    await refused;
  });

  it('leads on if the store is full: nobody could be elected', async () => {
    const bench = new Bench();
    bench.full = 'http://etcd-2:2379';
    await expect(bench.stepDown.begin()).rejects.toThrow(/http:\/\/etcd-2:2379 says NOSPACE.*Make room/);
    expect(bench.did).toEqual([]);
  });

  it('leads on if its log is its own', async () => {
    const bench = new Bench();
    bench.isShared = false;
    await expect(bench.stepDown.begin()).rejects.toThrow('its log is its own');
  });

  it('has nothing to do if it leads no more, also when that comes while it looks for others', async () => {
    const bench = new Bench();
    const done = bench.stepDown.begin();
    bench.role = 'standby';
    expect(await done).toBe(false);
    expect(await bench.stepDown.begin()).toBe(false);
    expect(bench.did).toEqual([]);
  });

  it('hears that it was closed, while it looks and while it waits, and stands for nothing any more', async () => {
    const looking = new Bench();
    looking.isOtherThere = new Promise(() => {});
    const waiting = new Bench();
    const both = [looking.stepDown.begin(), waiting.stepDown.begin()];
    const refused = both.map((each) => expect(each).rejects.toMatchObject({ code: 'CLOSED' }));
    await waiting.withdrawn();
    for (const { closing } of [looking, waiting]) closing.abort(closed('the Manager'));
    await Promise.all(refused);
    expect([looking.did, waiting.did]).toEqual([[], ['withdrew']]);
  });
});
