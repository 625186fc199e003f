import { describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../runtime/time.ts';
import type { Answer } from './answer.ts';
import { Changes } from './changes.ts';
import { initialConfiguration, type ProposedConfiguration } from './configuration.ts';
import type { Context } from './context.ts';
import type { Leadership } from './leadership.ts';
import { ReplicatedLog } from './log.ts';
import type { Change } from './membership.ts';
import type { Operation } from './operation.ts';

const NOW: Instant = instant(0);
const MEMBERS = ['a', 'b', 'c'].map((storage, seat) => ({ seat, storage }));
const INITIAL = initialConfiguration(MEMBERS, { mode: 'all' });

/** A leader whose newest configuration is committed; a majority may know that even after a restart, or not yet. */
function leading(isSettled: boolean): {
  answers: Answer[];
  proposed: Operation[];
  begin(change: Change): void;
} {
  const log = new ReplicatedLog({ slot: 0, configuration: INITIAL });
  const configuration: ProposedConfiguration = { ...INITIAL, leader: 0, placement: { mode: 'all' } };
  log.set(1, { ballot: 33, operation: { kind: 'configuration', configuration } });
  log.choose(1);
  log.commit(1);
  const answers: Answer[] = [];
  const proposed: Operation[] = [];
  const changes = new Changes({
    ...{ log, self: 'a' },
    answer: (_: number, answer: Answer) => void answers.push(answer),
  } as unknown as Context);
  const leadership = {
    ...{ hasBegun: true, isTransferring: false, isSettled: () => isSettled, canDecide: () => true },
    append: (operation: Operation) => void proposed.push(operation),
  } as unknown as Leadership;
  return { answers, proposed, begin: (change) => changes.begin(1, change, leadership, NOW) };
}

describe('a change of members', () => {
  it('waits until a majority will know after a restart that the configuration before is committed', () => {
    const early = leading(false);
    early.begin({ kind: 'replace', storage: 'c', by: 'd' });
    expect([early.answers, early.proposed]).toEqual([[{ kind: 'refused', why: 'not-ready' }], []]);
    const later = leading(true);
    later.begin({ kind: 'replace', storage: 'c', by: 'd' });
    expect([later.answers, later.proposed.length]).toEqual([[], 1]);
  });

  it('that is in force is not answered as done before a majority will know that after a restart', () => {
    const early = leading(false);
    early.begin({ kind: 'add', storage: 'b' });
    expect(early.answers).toEqual([{ kind: 'refused', why: 'not-ready' }]);
    const later = leading(true);
    later.begin({ kind: 'add', storage: 'b' });
    expect(later.answers).toEqual([{ kind: 'changed', position: 1 }]);
  });
});

describe('a change of the placement', () => {
  it('needs nothing but a committed configuration before it: every placement is safe with every other', () => {
    const early = leading(false);
    early.begin({ kind: 'placement', placement: { mode: 'leader' } });
    expect([early.answers, early.proposed.length]).toEqual([[], 1]);
  });
});
