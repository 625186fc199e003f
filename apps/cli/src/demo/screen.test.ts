import { createColors } from 'picocolors';
import { describe, expect, it } from 'vitest';
import type { LoggedEvent } from '../answers.ts';
import { recordedContext } from '../testing/recorded-context.ts';
import type { News } from './scene.ts';
import { picture, plainScreen } from './screen.ts';
import type { DemoState, OwnerState } from './state.ts';

const owner = (name: string, change: Partial<OwnerState> = {}): OwnerState => ({
  ...{
    name,
    pid: 100,
    supervisorPid: 99,
    isRunning: true,
    sharePercent: 33.3,
    requestsPerSecond: 50,
    users: 100,
  },
  ...change,
});

const state = (change: Partial<DemoState> = {}): DemoState => ({
  upMs: 12_300,
  manager: { address: '127.0.0.1:7400', http: 'http://127.0.0.1:7401', pid: 1 },
  managers: [],
  owners: ['ada', 'ben', 'cyd'].map((name) => owner(name)),
  frontEnds: ['north', 'south'].map((name) => ({ name, pid: 200, isRunning: true, connected: 150 })),
  users: { connected: 300, expected: 300 },
  reads: { count: 900, perSecond: 150, wrong: 0, wrongNow: 0, wrongForLong: 0, slowestRecoveryMs: 0 },
  ...{ writes: 180, unanswered: 0, lost: 0, republished: 0, retried: 0, misdirected: 0 },
  ...change,
});

const NEWS = ['one', 'two', 'three', 'four', 'five', 'six'];
const calling = { calledAs: 'leasehold', demoCalledAs: undefined };
const drawn = (linesMax: number, change: Partial<DemoState> = {}): readonly string[] =>
  picture(state(change), NEWS, calling, createColors(false), linesMax);

const event = (kind: string, more: object = {}): LoggedEvent =>
  ({
    ...{ id: 'e-1', atMs: 0, position: 1, kind, pool: 'presence', ...more },
    owner: { incarnation: 'a1', name: 'ada', url: 'http://ada' },
  }) as LoggedEvent;

describe('the picture of the demo', () => {
  it('says behind each number what it counts', () => {
    const reads = { ...state().reads, wrong: 2, slowestRecoveryMs: 88 };
    const text = drawn(99, { reads, lost: 73, republished: 73 }).join('\n');
    expect(text).toContain('reads       900, 150 a second: users look each other up');
    expect(text).toContain('wrong       2 (none now; right again within 88 ms): no status or an old one');
    expect(text).toContain('unanswered  0: no owner answered within 2 s');
    expect(text).toContain('lost        73 users, 73 published again: their keys got another owner');
  });

  it('does not call a rate nought that is not known yet', () => {
    const reads = { ...state().reads, count: 0, perSecond: null };
    const owners = [owner('ada', { requestsPerSecond: null, users: 3 })];
    const text = drawn(99, { reads, owners, users: { connected: 16, expected: 300 } }).join('\n');
    expect(text).toContain('16 of 300 users connected so far');
    expect(text).toContain('reads       0: users');
    expect(text).toMatch(/^ada +100 +33\.3 % +- +3$/m);
  });

  it('fits a terminal of 24 lines and 80 columns with all that is needed to try something', () => {
    const lines = drawn(23);
    expect(lines.length).toBeLessThanOrEqual(23);
    expect(lines).toEqual(expect.arrayContaining(['five', 'six', expect.stringContaining('kill -9 100')]));
    expect(lines).not.toContain('four');
    expect(lines.filter((line) => line.length > 79)).toEqual([]);
  });

  it('names all Managers in the commands that it advises, for any of them may be killed', () => {
    const managers = ['uno', 'due', 'tre'].map((name, index) => ({
      ...{
        name,
        pid: index + 1,
        address: `127.0.0.1:${7_400 + index}`,
        http: `http://127.0.0.1:${8_400 + index}`,
      },
    }));
    const text = drawn(99, { managers }).join('\n');
    expect(text).toContain(
      'demo add-owner --managers 127.0.0.1:7400,127.0.0.1:7401,127.0.0.1:7402  one more',
    );
    expect(text).toContain('uno, which leads, dies');
    const apis = 'http://127.0.0.1:8400,http://127.0.0.1:8401,http://127.0.0.1:8402';
    expect(text).toContain(`watch --at ${apis}`);
    expect(text).toContain(`explain presence user-1 --at ${apis}`);
  });

  it('keeps its figures when there is hardly any room', () => {
    expect(drawn(18)).toContain('six');
    expect(drawn(18).join('\n')).not.toContain('kill -9');
    expect(drawn(5)).toHaveLength(5);
  });
});

describe('the demo without a terminal', () => {
  it('explains its numbers once, before the first of them', () => {
    const context = recordedContext();
    using screen = plainScreen(context);
    screen.draw(state());
    screen.draw(state({ upMs: 14_300 }));
    const [before = '', ...after] = context.printed().split('900 reads');
    expect(before).toContain('wrong            reads that found no status or an old one');
    expect(after).toHaveLength(2);
    expect(after.join()).not.toContain('What the numbers mean');
  });

  it('frightens nobody with what is told as lost while owners take their first shares', () => {
    const context = recordedContext();
    using screen = plainScreen(context);
    const extent = { spans: 2, sharePercent: 33.3, ranges: [] };
    const tell = (logged: LoggedEvent, isSettingUp: boolean): void => {
      const news: News = { kind: 'event', event: logged, isSettingUp, atMs: 0 };
      screen.news(news);
    };
    tell(event('pool.joined'), true);
    tell(event('pool.lost', extent), true);
    tell(event('pool.granted', extent), true);
    expect(context.printed()).toMatch(/^\S+ ada joined, at http:\/\/ada\n$/);
    tell(event('pool.lost', extent), false);
    expect(context.printed()).toContain('lost: the state of keys of ada');
  });
});
