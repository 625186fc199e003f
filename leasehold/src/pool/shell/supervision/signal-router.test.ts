import { describe, expect, it } from 'vitest';
import type { Signal } from '../../../node/process/signals.ts';
import { SignalRouter } from './signal-router.ts';

const onTerminal = (nowMs: number) => ({ nowMs, inForeground: true });
const elsewhere = (nowMs: number) => ({ nowMs, inForeground: false });

describe('a signal that a supervisor gets', () => {
  it.each<Signal>(['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'])(
    'is handed to the command alone without a terminal: %s',
    (signal) => expect(new SignalRouter().route(signal, elsewhere(0))).toBe('command'),
  );

  it.each<Signal>(['SIGINT', 'SIGQUIT', 'SIGWINCH'])(
    'is handed to the whole group of the command on a terminal, which does the same: %s',
    (signal) => expect(new SignalRouter().route(signal, onTerminal(0))).toBe('group'),
  );

  it.each<Signal>(['SIGTERM', 'SIGHUP'])(
    'is handed to the command alone though on a terminal: %s',
    (signal) => expect(new SignalRouter().route(signal, onTerminal(0))).toBe('command'),
  );

  it('is dropped as an echo if it is to end the command and comes again at once', () => {
    const router = new SignalRouter();
    const routings = [0, 5, 400].map((ms) => router.route('SIGTERM', elsewhere(ms)));
    expect(routings).toEqual(['command', 'dropped', 'command']);
  });

  it('is no echo if it does not end the command: it is handed on each time', () => {
    const router = new SignalRouter();
    expect([0, 5].map((ms) => router.route('SIGUSR2', elsewhere(ms)))).toEqual(['command', 'command']);
  });

  it('stops and continues the group and the supervisor: Ctrl-Z and fg', () => {
    const router = new SignalRouter();
    expect(router.route('SIGTSTP', onTerminal(0))).toBe('stops');
    expect(router.route('SIGCONT', onTerminal(0))).toBe('continues');
  });
});

describe('the rest of the process group when the command has ended', () => {
  it('gets the signal to end that the command got alone', () => {
    const router = new SignalRouter();
    router.route('SIGTERM', elsewhere(0));
    expect(router.leftToTell).toBe('SIGTERM');
  });

  it('gets nothing if the command was sent none, or the whole group was', () => {
    const router = new SignalRouter();
    expect(router.leftToTell).toBeUndefined();
    router.route('SIGUSR1', elsewhere(0));
    router.route('SIGINT', onTerminal(0));
    expect(router.leftToTell).toBeUndefined();
  });
});
