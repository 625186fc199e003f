import { expect, it } from 'vitest';
import { Script } from '../simulation/script.ts';
import { Candidacy } from './election.ts';
import type { Prepared } from './messages.ts';

it('gives up a candidacy when a snapshot has taken the place of the slots that it asked about', () => {
  const { log } = new Script(3, { mode: 'all' }).nodes[0]?.replica.view ?? expect.unreachable();
  const chosen = log.chosen;
  const candidacy = new Candidacy(99, chosen);
  const prepared: Prepared = {
    kind: 'prepared',
    ballot: 99,
    chosen,
    committed: chosen,
    entries: [],
    votes: 1,
    isComplete: true,
  };
  expect(candidacy.report('a', prepared, 'a', log).is).toBe('open');
  log.install({ slot: chosen + 50, configuration: log.newestConfiguration });
  expect(candidacy.report('b', prepared, 'a', log).is).toBe('hopeless');
});
