import { describe, expect, it } from 'vitest';
import { HandMovedRuntime } from '../node/tcp/socket-script.ts';
import { EpisodeLog } from './episode-log.ts';
import { type LogFacts, silent } from './logger.ts';

function bench() {
  const runtime = new HandMovedRuntime();
  const lines: string[] = [];
  const warn = (message: string, facts: LogFacts = {}): void =>
    void lines.push([message, ...Object.entries(facts).map(([name, value]) => `${name}=${value}`)].join(' '));
  const log = new EpisodeLog({ ...silent, warn }, runtime);
  return { runtime, lines, log };
}

describe('an episode', () => {
  it('is one line when it begins and one when it has been quiet for ten seconds', () => {
    const { runtime, lines, log } = bench();
    for (let time = 0; time < 1_000; time += 1) {
      log.happened('full', 'too many', { address: '10.0.0.1' });
      runtime.pass(20);
    }
    expect(lines).toEqual(['too many address=10.0.0.1']);
    runtime.pass(10_000);
    expect(lines.slice(1)).toEqual(['too many: over times=1000 forMs=19980']);
    expect(runtime.timers).toBe(0);
  });

  it('of one kind says nothing of another, and begins again after it was over', () => {
    const { runtime, lines, log } = bench();
    log.happened('full', 'too many');
    log.happened('slow', 'too slow');
    runtime.pass(10_000);
    log.happened('full', 'too many');
    expect(lines).toEqual([
      'too many',
      'too slow',
      'too many: over times=1 forMs=0',
      'too slow: over times=1 forMs=0',
      'too many',
    ]);
    log[Symbol.dispose]();
    expect(runtime.timers).toBe(0);
  });
});
