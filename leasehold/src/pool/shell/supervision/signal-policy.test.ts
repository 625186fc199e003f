import { describe, expect, it } from 'vitest';
import { isForeground } from '../../../node/signals.ts';
import { FORWARDED, SignalPolicy } from './signal-policy.ts';

describe('a supervisor that is sent a signal', () => {
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

describe('a process is in the foreground of a terminal', () => {
  const stat = (group: number, terminal: number, foreground: number): string =>
    `77 (a (b) c) S 1 ${group} 5 ${terminal} ${foreground} 4194560 0`;

  it('if it has one and its group is the one in front', () => {
    expect(isForeground(stat(70, 34_816, 70))).toBe(true);
  });

  it('not if another group is in front, or it has no terminal', () => {
    expect(isForeground(stat(70, 34_816, 71))).toBe(false);
    expect(isForeground(stat(70, 0, -1))).toBe(false);
    expect(isForeground(stat(0, 0, 0))).toBe(false);
  });
});
