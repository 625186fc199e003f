import { describe, expect, it } from 'vitest';
import type { MoverAnswer } from '../answers.ts';
import { DrainProgress } from './drain-progress.ts';

const MB = 1_000_000;
const mover = (ranges: number, sentBytes: number, targets: number | null = 2): MoverAnswer => ({
  ...{ incarnation: 'web-3.1', name: 'web-3', movesKeys: true, intent: 'emptying', order: 'emptying' },
  ...{ ranges, sentBytes, targets },
});

function progress(): DrainProgress {
  const made = new DrainProgress('presence', 'web-3', 64, 0);
  made.hear({ term: 1 }, mover(64, 5 * MB), 100);
  return made;
}

describe('the progress of a drain', () => {
  it('is a bar with ranges, bytes, rate and time left', () => {
    const made = progress();
    made.hear({ term: 1 }, mover(17, 187 * MB), 3_000);
    expect(made.bar(3_000)).toBe(
      'web-3 of presence  [#############-----]  47 of 64 ranges   182 MB   61 MB/s   2 s left',
    );
  });

  it('is a line without a terminal', () => {
    const made = progress();
    made.hear({ term: 1 }, mover(32, 5 * MB), 1_000);
    expect(made.line(1_000)).toBe('web-3 of presence: 32 of 64 ranges, 1 s left');
  });

  it('goes on counting bytes when another Manager leads', () => {
    const made = progress();
    made.hear({ term: 1 }, mover(50, 15 * MB), 1_000);
    made.hear({ term: 2 }, mover(40, 3 * MB), 2_000);
    expect(made.bytes).toBe(13 * MB);
  });

  it('says what it waits for', () => {
    const made = progress();
    made.hear({ term: 1 }, mover(64, 5 * MB, 0), 1_000);
    expect(made.line(1_000)).toBe(
      'web-3 of presence: 0 of 64 ranges, waits: no other owner can take its keys',
    );
    made.unheard();
    expect(made.line(1_000)).toBe('web-3 of presence: 0 of 64 ranges, waits for a Manager that leads');
  });

  it('says nothing of the time left before anything has moved', () => {
    expect(progress().line(1_000)).toBe('web-3 of presence: 0 of 64 ranges');
  });
});
