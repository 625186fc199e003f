import { describe, expect, it } from 'vitest';
import { HandMovedRuntime } from '../../node/tcp/socket-script.ts';
import type { HttpClient, HttpEvents } from '../../runtime/http.ts';
import { later } from '../../runtime/time.ts';
import { SurroundingsUntil } from './surroundings-until.ts';

/** Everything that was sent, and whether it was broken off. */
class Sent implements HttpClient {
  readonly events: HttpEvents[] = [];
  brokenOff = 0;

  post(_post: unknown, events: HttpEvents) {
    this.events.push(events);
    return { mayHaveArrived: true, [Symbol.dispose]: () => void (this.brokenOff += 1) };
  }
}

function bench() {
  const [runtime, sent, heard] = [new HandMovedRuntime(), new Sent(), [] as string[]];
  const surroundings = new SurroundingsUntil(runtime, sent);
  const wakeIn = (ms: number): Disposable =>
    surroundings.runtime.wakeAt(later(runtime.now(), ms), () => void heard.push(`woken after ${ms}`));
  const post = () =>
    surroundings.http.post(
      { url: 'http://etcd', headers: {}, body: '' },
      {
        status: (status) => void heard.push(`status ${status}`),
        data: () => void heard.push('data'),
        ended: () => void heard.push('ended'),
        failed: (why) => void heard.push(`failed: ${why}`),
      },
    );
  return { runtime, sent, heard, surroundings, wakeIn, post };
}

describe('surroundings that end', () => {
  it('are like all others until then', () => {
    const { runtime, sent, heard, wakeIn, post } = bench();
    wakeIn(10);
    wakeIn(20)[Symbol.dispose]();
    runtime.pass(30);
    expect(post().mayHaveArrived).toBe(true);
    sent.events[0]?.status(200);
    sent.events[0]?.data(new Uint8Array());
    sent.events[0]?.ended();
    post();
    sent.events[1]?.failed('socket hang up');
    post()[Symbol.dispose]();
    expect(heard).toEqual(['woken after 10', 'status 200', 'data', 'ended', 'failed: socket hang up']);
    expect(sent.brokenOff).toBe(1);
  });

  it('are silent afterwards: what was under way is broken off, and nothing more is sent', () => {
    const { runtime, sent, heard, surroundings, wakeIn, post } = bench();
    const timer = wakeIn(10);
    const exchange = post();
    surroundings[Symbol.dispose]();
    expect(sent.brokenOff).toBe(1);
    wakeIn(5);
    expect(post().mayHaveArrived).toBe(false);
    runtime.pass(100);
    expect([heard, sent.events.length]).toEqual([[], 1]);
    timer[Symbol.dispose]();
    exchange[Symbol.dispose]();
    surroundings[Symbol.dispose]();
  });

  it('break off nothing that is over', () => {
    const { sent, surroundings, post } = bench();
    post();
    sent.events[0]?.ended();
    surroundings[Symbol.dispose]();
    expect(sent.brokenOff).toBe(0);
  });
});
