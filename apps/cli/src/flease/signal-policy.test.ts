import { describe, expect, it } from 'vitest';
import { FORWARDED, SignalPolicy } from './signal-policy.ts';

describe('a holder of a lease that is sent a signal while its command runs', () => {
  it.each(FORWARDED)('hands on every %s if it is not in the foreground of a terminal', (signal) => {
    const policy = new SignalPolicy();
    expect([policy.forwards(signal, false), policy.forwards(signal, false)]).toEqual([true, true]);
  });

  it.each(['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const)(
    'hands on every %s in the foreground too, for no key sends it',
    (signal) => {
      const policy = new SignalPolicy();
      expect([policy.forwards(signal, true), policy.forwards(signal, true)]).toEqual([true, true]);
    },
  );

  it('keeps back the first Ctrl-C in the foreground, which the child has had, and no other', () => {
    const policy = new SignalPolicy();
    expect(policy.forwards('SIGINT', true)).toBe(false);
    expect(policy.forwards('SIGINT', true)).toBe(true);
    expect(policy.forwards('SIGINT', true)).toBe(true);
  });

  it('counts Ctrl-C and Ctrl-\\ apart', () => {
    const policy = new SignalPolicy();
    expect([policy.forwards('SIGINT', true), policy.forwards('SIGQUIT', true)]).toEqual([false, false]);
  });
});
