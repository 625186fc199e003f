import { describe, expect, it } from 'vitest';
import type { AppendOutcome } from '../../log/log.ts';
import type { Lifetime } from '../../runtime/lifetime.ts';
import type { Found } from '../core/result.ts';
import type { LogContext } from './context.ts';
import { encodeHead, encodeJson, HEAD_KEY, TERM_KEY } from './layout.ts';
import { Leading } from './leading.ts';
import type { Outcome } from './requests.ts';

const REVISION = 4_096;
const EMPTY = new Uint8Array(0);

/** An append at position 7 of a leader whose log has a head at 6; what came of it when the cell had answered so. */
function appended(outcome: Outcome): { outcomes: AppendOutcome[]; damaged: string[]; superseded: number } {
  const outcomes: AppendOutcome[] = [];
  const damaged: string[] = [];
  let superseded = 0;
  const context = {
    options: { maxBatchBytes: 1_000 },
    view: { head: { value: 6, revision: 5_000 } },
    requests: { write: (_: unknown, done: (answer: Outcome) => void) => done(outcome) },
    damaged: (key: string) => void damaged.push(key),
  } as unknown as LogContext;
  const life = { isOver: false, hearing: <Act>(act: Act): Act => act } as unknown as Lifetime;
  const start = { history: 'h', key: 'k', floor: 0, snapshot: undefined, batches: [] };
  const leading = new Leading(context, {
    ...{ revision: REVISION, start, life, resigned: () => {} },
    superseded: () => {
      superseded += 1;
    },
  });
  leading.append({ position: 7, bytes: EMPTY }, (what) => outcomes.push(what));
  return { outcomes, damaged, superseded };
}

/** The conditions did not hold: the cell says what it found instead. */
const unmet = (term: number, position: number): Outcome => {
  const found: Found[] = [
    { key: TERM_KEY, value: encodeJson({}), revision: term },
    { key: HEAD_KEY, value: encodeHead(position), revision: 6_000 },
  ];
  return { kind: 'unmet', revision: 6_100, found };
};

describe('an append of a leader', () => {
  it('is done if an earlier copy has moved the head to its position', () => {
    expect(appended(unmet(REVISION, 7))).toEqual({ outcomes: ['appended'], damaged: [], superseded: 0 });
  });

  it('is not done if the head is at another position: something else than the log has written it', () => {
    for (const position of [6, 8])
      expect(appended(unmet(REVISION, position))).toEqual({
        outcomes: [],
        damaged: [HEAD_KEY],
        superseded: 0,
      });
  });

  it('is not done if another candidate has written the term, wherever the head is', () => {
    expect(appended(unmet(REVISION + 1, 7))).toEqual({ outcomes: [], damaged: [], superseded: 1 });
  });
});
