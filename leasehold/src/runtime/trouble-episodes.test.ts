import { describe, expect, it } from 'vitest';
import type { Logger } from './logger.ts';
import { instant, type Instant } from './time.ts';
import { EpisodeLog } from './episode-log.ts';

class Bench {
  readonly lines: string[] = [];
  nowMs = 0;
  readonly troubles: EpisodeLog;

  constructor() {
    const line =
      (level: string) =>
      (message: string, facts: object = {}): void =>
        void this.lines.push(`${level} ${message} ${JSON.stringify(facts)}`);
    const logger: Logger = {
      debug: line('debug'),
      info: line('info'),
      warn: line('warn'),
      error: line('error'),
    };
    const never = (): never => {
      throw new Error('a trouble only looks at the clock');
    };
    this.troubles = new EpisodeLog(logger, {
      now: (): Instant => instant(this.nowMs),
      wakeAt: never,
    });
  }
}

describe('a trouble', () => {
  it('is said when it begins and when it is over, and not in between', () => {
    const bench = new Bench();
    for (bench.nowMs = 0; bench.nowMs <= 30_000; bench.nowMs += 100)
      bench.troubles.met('no answer', { why: 'x' });
    bench.troubles.over('no answer');
    bench.troubles.over('no answer');
    expect(bench.lines).toEqual([
      'warn no answer {"why":"x"}',
      'info over: no answer {"lastedMs":30100,"tries":301}',
    ]);
  });

  it('that comes and goes is said every ten seconds at most, with how often it was met in between', () => {
    const bench = new Bench();
    for (bench.nowMs = 0; bench.nowMs <= 12_000; bench.nowMs += 1_000) {
      bench.troubles.met('no answer');
      bench.troubles.over('no answer');
    }
    expect(bench.lines.filter((line) => line.startsWith('warn'))).toEqual([
      'warn no answer {}',
      'warn no answer {"leftOut":9}',
    ]);
  });

  it('that nobody has met for a minute is said again', () => {
    const bench = new Bench();
    bench.troubles.met('full');
    bench.nowMs = 61_000;
    bench.troubles.met('full');
    expect(bench.lines).toEqual(['warn full {}', 'warn full {}']);
  });

  it('does not hide another', () => {
    const bench = new Bench();
    bench.troubles.met('full');
    bench.troubles.met('denied');
    expect(bench.lines).toHaveLength(2);
  });
});
