import { describe, expect, it } from 'vitest';
import { HandMovedRuntime, listeningLogger } from '../../node/tcp/socket-script.ts';
import { MajorityDiary } from './majority-diary.ts';

const AFTER_MS = 3_000;
const REASONS = new Map([
  ['b', 'not connected'],
  ['c', 'silent for 4 s'],
]);

function opened() {
  const clock = new HandMovedRuntime();
  const logger = listeningLogger();
  const diary = new MajorityDiary({ clock, logger, afterMs: AFTER_MS });
  const told = () => logger.lines.map(({ level, message, why }) => [level, message, why]);
  return { clock, diary, told };
}

const MISSED = [
  'warn',
  'no majority of those that elect answers, so nobody can lead',
  'b (not connected), c (silent for 4 s)',
];
const HEARD = ['info', 'a majority of those that elect answers again', undefined];

describe('that nobody can be elected', () => {
  it('is said once it has lasted, with what is the matter with each, and when it is over', () => {
    const { clock, diary, told } = opened();
    diary.missed({ reasons: REASONS });
    clock.pass(AFTER_MS - 1);
    diary.missed({ reasons: REASONS });
    expect(told()).toEqual([]);
    clock.pass(1);
    diary.missed({ reasons: REASONS });
    diary.missed({ reasons: REASONS });
    expect(told()).toEqual([MISSED]);
    diary.heard();
    diary.heard();
    expect(told()).toEqual([MISSED, HEARD]);
  });

  it('is not worth a word while members are restarted one after the other', () => {
    const { clock, diary, told } = opened();
    for (let restarts = 0; restarts < 3; restarts += 1) {
      diary.missed({ reasons: REASONS });
      clock.pass(AFTER_MS - 1);
      diary.missed({ reasons: REASONS });
      diary.heard();
    }
    expect(told()).toEqual([]);
  });
});
