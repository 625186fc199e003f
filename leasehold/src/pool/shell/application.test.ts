import { afterEach, describe, expect, it, vi } from 'vitest';
import { HandMovedRuntime, until } from '../../node/tcp/socket-script.ts';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import { silent } from '../../runtime/logger.ts';
import type { Runtime, Transport } from '../../runtime/runtime.ts';
import type { Changes, FromManager, Report, ToManager, Update } from '../core/messages.ts';
import { lookupPace, ownerPace, resolveDurations } from '../core/options.ts';
import { Application } from './application.ts';
import { PoolLookup } from './lookup/pool-lookup.ts';
import { type OwnerApplication, PoolOwner } from './owner/pool-owner.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const durations = resolveDurations();
const whole = { start: 0n, end: RING_SIZE };

/** The other end of the line: what was said to it, and a way to say something. */
function line() {
  const said: ToManager[] = [];
  let hear: (from: string, message: FromManager) => void = () => {};
  const dialer: Transport<ToManager, FromManager> = {
    send: (_, message) => said.push(message),
    listen: (callback) => {
      hear = callback;
      return { [Symbol.dispose]: () => {} };
    },
  };
  return { said, dialer, say: (message: FromManager) => hear('m1', message) };
}

const around = (runtime: Runtime) => ({
  ...{ durations, runtime, logger: silent, addresses: { current: ['m1'] } },
  close: async () => {},
});

/** An owner of everything, with an application that is not to be relied on. */
function owner(application: OwnerApplication) {
  const [runtime, surfaced] = [new HandMovedRuntime(), [] as unknown[]];
  const { said, dialer, say } = line();
  const identity = { pool: 'p', incarnation: 'a.1', name: 'a', url: 'http://a', proof: undefined };
  const surface = (error: unknown): void => void surfaced.push(error);
  const owned = new PoolOwner({ ...around(runtime), identity, dialer, application, surface });
  const reports = (): readonly Report[] => said.filter((message) => message.kind === 'report');
  let sequence = 0;
  const answer = (leaseMs = durations.leaseMs): void => {
    sequence += 1;
    const update: Update = {
      ...{ kind: 'update', pool: 'p', incarnation: 'a.1', history: 'h', term: 1, sequence, position: 1 },
      ...{ acknowledges: reports().at(-1)?.sequence ?? 0, leaseMs, pace: ownerPace(durations) },
      ...{ admitted: true, spans: [{ ...whole, number: 1, recalled: false, continues: [] }] },
    };
    say(update);
  };
  return { owner: owned, runtime, surfaced, reports, answer };
}

describe('a function of the application that throws', () => {
  afterEach(() => vi.unstubAllGlobals());

  it('has no answer, and what it threw comes to light', () => {
    const surfaced: unknown[] = [];
    const application = new Application((error) => surfaced.push(error));
    expect(application.ask(() => 7)).toBe(7);
    const fault = new Error('no gauge');
    const failing = (): number => {
      throw fault;
    };
    expect(application.ask(failing)).toBeUndefined();
    expect(surfaced).toEqual([fault]);
  });

  it('ends, unless somebody handles that, a process: it is thrown where nobody catches it', () => {
    const turns: (() => void)[] = [];
    vi.stubGlobal('queueMicrotask', (callback: () => void) => turns.push(callback));
    const application = new Application();
    application.tell(() => {
      throw new Error('no gauge');
    });
    expect(turns.shift()).not.toThrow();
    expect(turns.shift()).toThrow('no gauge');
    expect(turns).toEqual([]);
  });

  it('comes to light in the same way if it rejects later', async () => {
    const surfaced: unknown[] = [];
    const application = new Application((error) => surfaced.push(error));
    application.tell(async () => {
      await turn();
      throw new Error('no gauge');
    });
    await until(() => surfaced.length > 0);
    expect(surfaced).toEqual([new Error('no gauge')]);
  });

  it('does not stop a renewal if it is load: the last one is reported', () => {
    let load: () => number = () => 12;
    const { owner: renewed, runtime, surfaced, reports, answer } = owner({ load: () => load() });
    answer();
    runtime.pass(durations.renewEveryMs);
    expect(reports().at(-1)?.load).toBe(12);
    answer();
    load = () => {
      throw new Error('no gauge');
    };
    for (let renewals = 0; renewals < 20; renewals += 1) {
      const before = reports().length;
      runtime.pass(durations.renewEveryMs);
      expect(reports().length).toBeGreaterThan(before);
      answer();
    }
    expect(renewed.check('alice')).toBe(1);
    expect(reports().at(-1)?.load).toBe(12);
    expect(surfaced.length).toBeGreaterThanOrEqual(20);
    expect(surfaced[0]).toEqual(new Error('no gauge'));
  });

  it('does not keep an owner from leaving if it is onLost', async () => {
    const onLost = (): void => {
      throw new Error('forgot how to forget');
    };
    const { owner: leaving, runtime, surfaced, answer } = owner({ onLost });
    answer();
    const left = leaving.close();
    await turn();
    runtime.pass(2 * durations.leaseMs);
    await left;
    await turn();
    expect(surfaced).toEqual([new Error('forgot how to forget')]);
  });

  it('does not stop a look-up if it is onLoss', async () => {
    const [runtime, surfaced] = [new HandMovedRuntime(), [] as unknown[]];
    const { said, dialer, say } = line();
    const failing = (what: string) => (): void => {
      throw new Error(what);
    };
    const lookup = new PoolLookup({
      ...{ ...around(runtime), pool: 'p', id: 'l', insists: {}, resumeFrom: undefined, dialer },
      onLoss: failing('onLoss'),
      surface: (error) => surfaced.push(error),
    });
    const answer = (to: number, lostAt: number): void => {
      const asked = said.findLast((message) => message.kind === 'sync');
      const changes: Changes = {
        ...{ kind: 'changes', pool: 'p', history: 'h', term: 1, from: 0, to },
        rows: [{ ...whole, owner: undefined, number: 0, lostAt }],
        ...{ answers: { lookup: 'l', sequence: asked?.sequence ?? 0 }, pace: lookupPace(durations) },
      };
      say(changes);
    };
    answer(1, 0);
    await turn();
    expect(surfaced).toEqual([]);
    runtime.pass(2 * durations.syncEveryMs);
    answer(2, 2);
    await turn();
    expect(surfaced.map(String)).toEqual(['Error: onLoss']);
    expect(lookup.position?.position).toBe(2);
  });
});
