import { describe, expect, it } from 'vitest';
import { HandMovedRuntime } from '../../node/tcp/socket-script.ts';
import { UnreachableError } from '../../node/tcp/errors.ts';
import { type LogFacts, silent } from '../../runtime/logger.ts';
import type { Refused } from '../core/messages.ts';
import { enter } from './entering.ts';
import { Refusals } from './refusals.ts';
import { Condition } from '../../runtime/condition.ts';

const refused = (code: string, retryable: boolean): Refused => ({
  ...{ kind: 'refused', pool: 'p', asker: 'a.1', code, message: `because of ${code}`, retryable },
});

/** Somebody who wants to get in within a second, at one address where nobody answers. */
function bench(signal?: AbortSignal, timeoutMs = 1_000, current: readonly string[] = ['m1:1']) {
  const runtime = new HandMovedRuntime();
  const waiters = new Condition();
  const warnings: LogFacts[] = [];
  const logger = {
    ...silent,
    warn: (message: string, facts?: LogFacts) => warnings.push({ message, ...facts }),
  };
  const refusals = new Refusals('owner', logger, runtime);
  const state = { isIn: false, gaveUp: false };
  const entrant = {
    entered: (until: AbortSignal) =>
      waiters
        .until(() => {
          refusals.throwIfFinal();
          return state.isIn ? true : undefined;
        }, until)
        .then(() => {}),
    leadersElsewhere: new Map<string, string>(),
    get refusal() {
      return refusals.last;
    },
    giveUp: async (): Promise<void> => {
      state.gaveUp = true;
    },
  };
  const problems = new Map([['m1:1', new UnreachableError('m1:1', 'it is not there')]]);
  const refused = new AbortController();
  const entering = enter(entrant, {
    ...{ runtime, logger, timeoutMs, startedAt: runtime.now(), signal, addresses: { current } },
    dialer: {
      problems: () => problems,
      refused: refused.signal,
      welcome: (address) => (address.startsWith('connected') ? {} : undefined),
    },
  });
  const say = (message: Refused): void => {
    refusals.heard(message);
    waiters.look();
  };
  const letIn = (): void => {
    state.isIn = true;
    waiters.look();
  };
  return { runtime, entrant, entering, say, letIn, state, warnings, refused };
}

describe('an owner or look-up that enters a pool', () => {
  it('says what it waits for, after a little while and then again', async () => {
    const { runtime, entering, letIn, warnings } = bench(undefined, 30_000);
    runtime.pass(1_999);
    expect(warnings).toEqual([]);
    runtime.pass(1);
    expect(warnings).toMatchObject([{ message: 'still waiting to be admitted', waitedMs: 2_000 }]);
    expect(warnings[0]?.['why']).toContain('it is not there');
    runtime.pass(5_000);
    expect(warnings).toHaveLength(2);
    letIn();
    await entering;
    expect(warnings[2]).toEqual({ message: 'was admitted', waitedMs: 7_000 });
    expect(runtime.timers).toBe(0);
  });

  it('tells Managers that are connected and do not answer from those that are not connected', async () => {
    const addresses = ['m1:1', 'connected:1', 'dialled:1', 'connected:2'];
    const { runtime, entering, letIn, warnings } = bench(undefined, 30_000, addresses);
    runtime.pass(2_000);
    expect(warnings[0]?.['why']).toBe(
      'connected to connected:1, connected:2, without an answer: perhaps no Manager leads yet, or the leader waits for earlier leases to expire before it grants keys; ' +
        'cannot reach m1:1: it is not there; dialled:1 is not connected yet',
    );
    letIn();
    await entering;
  });

  it('says that the leader is not in the list of Managers, while it waits and when it gives up', async () => {
    const { runtime, entrant, entering, warnings } = bench(undefined, 3_000, ['connected:1', 'connected:2']);
    entrant.leadersElsewhere.set('connected:2', 'm7:1');
    runtime.pass(3_000);
    const sentence =
      'the Manager at connected:2 is a standby of the leader at m7:1, which is not in `managers`: list every Manager';
    expect(warnings[0]?.['why']).toMatch(new RegExp(`^${sentence}; connected to connected:1, without`));
    await expect(entering).rejects.toThrow(`connected:1 (no answer), connected:2 (${sentence})`);
  });

  it('is in when a Manager says so, and no timer is left', async () => {
    const { runtime, entrant, entering, letIn, state } = bench();
    letIn();
    expect(await entering).toBe(entrant);
    expect([state.gaveUp, runtime.timers]).toEqual([false, 0]);
  });

  it('gives up when the time is over, and hears what each address did', async () => {
    const { runtime, entering, state } = bench();
    runtime.pass(1_000);
    await expect(entering).rejects.toMatchObject({
      code: 'MANAGERS_UNREACHABLE',
      details: { managers: ['m1:1'] },
    });
    await expect(entering).rejects.toThrow('within 1000 ms: m1:1 (cannot reach m1:1: it is not there)');
    expect(state.gaveUp).toBe(true);
  });

  it('says nothing more of waiting while it gives up', async () => {
    const { runtime, entering, entrant, warnings } = bench(undefined, 1_500);
    entrant.giveUp = async () => runtime.pass(5_000);
    runtime.pass(1_500);
    await expect(entering).rejects.toMatchObject({ code: 'MANAGERS_UNREACHABLE' });
    expect([warnings, runtime.timers]).toEqual([[], 0]);
  });

  it('gives up at once if it is refused for good', async () => {
    const { entering, say, state } = bench();
    say(refused('UNKNOWN_POOL', false));
    await expect(entering).rejects.toMatchObject({ code: 'UNKNOWN_POOL' });
    expect(state.gaveUp).toBe(true);
  });

  it('waits if time may mend the refusal, which is then the reason why not', async () => {
    const { runtime, entering, say } = bench();
    say(refused('URL_IN_USE', true));
    runtime.pass(1_000);
    await expect(entering).rejects.toMatchObject({ code: 'URL_IN_USE', retryable: true });
    await expect(entering).rejects.toThrow('gave up after 1000 ms: because of URL_IN_USE');
  });

  it('gives up with the reason of the caller, whatever else there was', async () => {
    const caller = new AbortController();
    const { entering, say } = bench(caller.signal);
    say(refused('URL_IN_USE', true));
    caller.abort(new Error('changed my mind'));
    await expect(entering).rejects.toThrow('changed my mind');
  });

  it('reads the reason of a refusal once, however long it waits', async () => {
    const { runtime, entering, say, letIn, warnings } = bench(undefined, 30_000);
    say(refused('URL_IN_USE', true));
    runtime.pass(2_000);
    say(refused('URL_IN_USE', true));
    runtime.pass(5_000);
    letIn();
    await entering;
    const code = 'URL_IN_USE';
    const waiting = { message: 'still waiting to be admitted', code, givesUpAfterMs: 30_000 };
    expect(warnings).toEqual([
      {
        ...{ message: 'a Manager refuses this owner', code, why: 'because of URL_IN_USE' },
        next: 'this owner goes on asking',
      },
      { ...waiting, waitedMs: 2_000 },
      { ...waiting, waitedMs: 7_000 },
      { message: 'was admitted', waitedMs: 7_000 },
    ]);
  });
});
