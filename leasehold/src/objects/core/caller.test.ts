import { describe, expect, it } from 'vitest';
import { keyHash } from '../../runtime/keys/hash.ts';
import { type Instant, instant } from '../../runtime/time.ts';
import { Caller, type CallerEffect, type CallRequest, type Route } from './caller.ts';
import type { ToOwner } from './messages.ts';

const at = instant;

const request = (until = 1_000, isRead = false): CallRequest => ({
  ...{ kind: 'counter', key: 'a', position: keyHash('a'), name: 'add', args: new Uint8Array() },
  ...{ isRead, isIdempotent: false, through: [], until: at(until) },
});

class Bench {
  route: Route | undefined = { link: 'one', number: 5, lostAt: 2 };
  readonly caller = new Caller<CallRequest>({
    routes: { find: () => this.route },
    ...{ cancelMs: 60, retryMs: 50, confirmMs: 200 },
  });

  take(effects: readonly CallerEffect<CallRequest>[]): readonly string[] {
    return effects.map((effect) =>
      effect.do === 'send' ? sent(effect.link, effect.frame) : ended(effect.end),
    );
  }

  call(asked: CallRequest = request()) {
    return this.take(this.caller.call(at(0), asked));
  }

  hear(message: Parameters<Caller['receive']>[2], now = 10, link = this.route?.link ?? 'one') {
    return this.take(this.caller.receive(at(now), link, message));
  }

  wake(now: number) {
    return this.take(this.caller.wake(at(now)));
  }
}

function sent(link: string, frame: ToOwner): string {
  if (frame.do === 'confirm') return `${link}: confirm ${frame.results.map(({ counter }) => counter).join()}`;
  if (frame.do === 'cancel') return `${link}: cancel ${frame.counter} ${frame.why}`;
  const { counter, number, first, isRepeated, hasLost } = frame;
  return `${link}: call ${counter} under ${number}${isRepeated ? ` again, first ${first}` : ''}${hasLost ? ', lost' : ''}`;
}

const ended = (end: Extract<CallerEffect<CallRequest>, { do: 'settle' }>['end']): string =>
  end.is === 'answered' ? `answered ${end.answer.bytes[0]}` : `${end.is}: ${end.why}`;

const reply = (counter: number) =>
  ({ do: 'reply', counter, answer: { isError: false, bytes: Uint8Array.of(7) } }) as const;

describe('a call', () => {
  it('is sent to the owner, settled by its answer, and the result is confirmed with the next call or after a while', () => {
    const bench = new Bench();
    expect(bench.call()).toEqual(['one: call 1 under 5']);
    expect(bench.hear(reply(1))).toEqual(['answered 7']);
    expect(bench.call()).toEqual(['one: confirm 1', 'one: call 2 under 5']);
    bench.hear(reply(2));
    expect(bench.caller.wakeAt).toBe(210);
    expect(bench.wake(210)).toEqual(['one: confirm 2']);
    expect(bench.caller.wakeAt).toBeUndefined();
  });

  it('waits for an owner, and is sent when there is one', () => {
    const bench = new Bench();
    bench.route = undefined;
    expect(bench.call()).toEqual([]);
    bench.route = { link: 'one', number: 6, lostAt: 2 };
    expect(bench.take(bench.caller.routesChanged(at(20)))).toEqual(['one: call 1 under 6']);
  });

  it('that was refused is a new one at the next owner; only one that may have run is a repetition', () => {
    const bench = new Bench();
    bench.call();
    bench.hear({ do: 'refused', counter: 1, why: 'not-held' });
    bench.route = { link: 'two', number: 8, lostAt: 2 };
    expect(bench.wake(60)).toEqual(['two: call 1 under 8']);
    bench.hear({ do: 'uncertain', counter: 1 }, 70);
    bench.route = { link: 'two', number: 9, lostAt: 2 };
    expect(bench.wake(120)).toEqual(['two: call 1 under 9 again, first 8']);
  });

  it('on a link that broke is repeated, with the number under which it was first sent', () => {
    const bench = new Bench();
    bench.call();
    bench.route = { link: 'two', number: 9, lostAt: 6 };
    expect(bench.take(bench.caller.linkBroken(at(10), 'one'))).toEqual([
      'two: call 1 under 9 again, first 5, lost',
    ]);
    expect(bench.hear({ do: 'unknown', counter: 1, why: 'lost' })).toEqual(['unknown: lost']);
  });

  it('hears only the link that it was sent on last', () => {
    const bench = new Bench();
    bench.call();
    bench.route = { link: 'two', number: 5, lostAt: 2 };
    bench.take(bench.caller.linkBroken(at(10), 'one'));
    expect(bench.hear({ do: 'refused', counter: 1, why: 'full' }, 20, 'one')).toEqual([]);
    expect(bench.hear(reply(1), 20, 'two')).toEqual(['answered 7']);
  });

  it('that is refused for good failed, or is unknown if an earlier frame may have run', () => {
    const bench = new Bench();
    bench.call();
    expect(bench.hear({ do: 'refused', counter: 1, why: 'full' })).toEqual(['failed: full']);
    bench.call();
    bench.hear({ do: 'uncertain', counter: 2 });
    bench.wake(60);
    expect(bench.hear({ do: 'refused', counter: 2, why: 'full' }, 70)).toEqual(['unknown: full']);
  });
});

describe('the end of the time', () => {
  it('of a call that was not sent, or only refused, says that nothing was done', () => {
    const bench = new Bench();
    bench.route = undefined;
    bench.call();
    expect(bench.wake(1_000)).toEqual(['failed: over']);
  });

  it('of a call that was sent asks the owner, whose refusal says that nothing was done', () => {
    const bench = new Bench();
    bench.call();
    expect(bench.wake(1_000)).toEqual(['one: cancel 1 over']);
    expect(bench.hear({ do: 'refused', counter: 1, why: 'over' }, 1_010)).toEqual(['failed: over']);
  });

  it('of a call whose owner does not say so is unknown, and that of a read never is', () => {
    const bench = new Bench();
    bench.call();
    bench.call(request(1_000, true));
    bench.wake(1_000);
    expect(bench.caller.wakeAt).toBe(1_060);
    expect([...bench.wake(1_060)].sort()).toEqual(['failed: over', 'unknown: over']);
    expect(bench.caller.pending).toBe(0);
  });

  it('may bring the answer at the last moment', () => {
    const bench = new Bench();
    bench.call();
    bench.wake(1_000);
    expect(bench.hear(reply(1), 1_010)).toEqual(['answered 7']);
  });
});

describe('a call that is given up', () => {
  it('is treated as one whose time is over', () => {
    const bench = new Bench();
    const asked = request(Number.POSITIVE_INFINITY);
    bench.call(asked);
    const cancelled: Instant = at(30);
    expect(bench.take(bench.caller.cancel(cancelled, asked))).toEqual(['one: cancel 1 cancelled']);
    expect(bench.take(bench.caller.linkBroken(at(40), 'one'))).toEqual(['unknown: cancelled']);
    expect(bench.take(bench.caller.cancel(at(50), asked))).toEqual([]);
  });
});
