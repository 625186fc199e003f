import { describe, expect, it } from 'vitest';
import { HandMovedRuntime, listeningLogger } from '../../../node/tcp/socket-script.ts';
import { EpisodeLog } from '../../../runtime/episode-log.ts';
import { majorityLines } from './majority-lines.ts';

const AFTER_MS = 3_000;
const REASONS = { b: 'not connected', c: 'silent for 4 s' };

function opened() {
  const clock = new HandMovedRuntime();
  const logger = listeningLogger();
  const lines = majorityLines(new EpisodeLog(logger, clock), AFTER_MS);
  const told = () => logger.lines.map(({ level, message, why }) => [level, message, why]);
  return { clock, lines, told };
}

const MISSED = [
  'warn',
  'no majority of the electing members answers, so no Manager can lead',
  'b (not connected), c (silent for 4 s)',
];
const HEARD = ['info', 'a majority of the electing members answers again', undefined];

describe('the line that no Manager can be elected', () => {
  it('is said once it has lasted, with what is the matter with each, and when it is over', () => {
    const { clock, lines, told } = opened();
    lines.missed({ reasons: REASONS });
    clock.pass(AFTER_MS - 1);
    lines.missed({ reasons: REASONS });
    expect(told()).toEqual([]);
    clock.pass(1);
    lines.missed({ reasons: REASONS });
    lines.missed({ reasons: REASONS });
    expect(told()).toEqual([MISSED]);
    lines.heard();
    lines.heard();
    expect(told()).toEqual([MISSED, HEARD]);
  });

  it('is not worth a word while members are restarted one after the other', () => {
    const { clock, lines, told } = opened();
    for (let restarts = 0; restarts < 3; restarts += 1) {
      lines.missed({ reasons: REASONS });
      clock.pass(AFTER_MS - 1);
      lines.missed({ reasons: REASONS });
      lines.heard();
    }
    expect(told()).toEqual([]);
  });
});
