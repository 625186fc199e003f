import { describe, expect, it } from 'vitest';
import { createLogger } from './logger.ts';
import { recordedContext } from './testing/recorded-context.ts';

const now = (): number => Date.UTC(2026, 0, 2, 3, 4, 5);

describe('the logger', () => {
  it('writes JSON lines where nobody watches, on the error output', () => {
    const context = recordedContext();
    createLogger(context, { now }).warn('the lease expired', { pool: 'presence', spans: 3 });
    expect(JSON.parse(context.complained())).toEqual({
      time: '2026-01-02T03:04:05.000Z',
      level: 'warn',
      message: 'the lease expired',
      pool: 'presence',
      spans: 3,
    });
    expect(context.printed()).toBe('');
  });

  it('writes short lines with colours on a terminal', () => {
    const context = recordedContext({ isTerminal: true });
    createLogger(context, { now }).warn('refused', { why: 'two words', code: 'X', left: undefined });
    expect(context.complained()).toContain('\u001b[33mwarn: refused\u001b[39m');
    expect(context.complained()).toContain(' why="two words" code=X');
    expect(context.complained()).not.toContain('left');
  });

  it.each([{ NO_COLOR: '1' }, { TERM: 'dumb' }])('writes no colours to a terminal with %j', (environment) => {
    const context = recordedContext({ isTerminal: true, environment });
    createLogger(context, { now }).error('no', { a: 1 });
    expect(context.complained()).toMatch(/^\d\d:\d\d:\d\d error: no a=1\n$/);
  });

  it('does as it is told, whatever it is written to', () => {
    const [terminal, file] = [recordedContext({ isTerminal: true }), recordedContext()];
    createLogger(terminal, { now, format: 'json' }).info('a');
    createLogger(file, { now, format: 'human' }).info('a');
    expect(JSON.parse(terminal.complained())).toMatchObject({ message: 'a' });
    expect(file.complained()).toMatch(/^\d\d:\d\d:\d\d a\n$/);
  });

  it('keeps details to itself unless somebody looks for a fault', () => {
    const [usual, debugging] = [
      recordedContext(),
      recordedContext({ environment: { LEASEHOLD_DEBUG: '1' } }),
    ];
    for (const context of [usual, debugging]) createLogger(context, { now }).debug('detail');
    expect(usual.complained()).toBe('');
    expect(debugging.complained()).toContain('detail');
  });
});
