import { describe, expect, it } from 'vitest';
import { SignalEchoes } from './signal-echoes.ts';

describe('a signal', () => {
  it('that comes again at once is the echo of the first', () => {
    const echoes = new SignalEchoes();
    expect([0, 3, 249].map((ms) => echoes.isEcho('SIGINT', ms))).toEqual([false, true, true]);
  });

  it('that comes again later is meant, and has an echo of its own', () => {
    const echoes = new SignalEchoes();
    expect([0, 250, 253, 600].map((ms) => echoes.isEcho('SIGINT', ms))).toEqual([false, false, true, false]);
  });

  it('is no echo of another', () => {
    const echoes = new SignalEchoes();
    expect([echoes.isEcho('SIGINT', 0), echoes.isEcho('SIGTERM', 1)]).toEqual([false, false]);
  });
});
