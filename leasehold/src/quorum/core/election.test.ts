import { expect, it } from 'vitest';
import { Script } from '../simulation/script.ts';
import { ballotOf } from './ballot.ts';
import { initialConfiguration } from './configuration.ts';
import { Candidacy } from './election.ts';
import { ReplicatedLog } from './log.ts';
import type { Message, Prepared } from './messages.ts';
import { Trio } from './testing/trio.ts';

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

it('elects nobody before a majority of every configuration that counts has reported, and not of the newest alone', () => {
  const members = (...storages: string[]) => storages.map((storage, seat) => ({ seat, storage }));
  const initial = initialConfiguration(members('a', 'b', 'c'), { mode: 'all' });
  const before = { ...initial, quorum: 'majority' } as const;
  const log = new ReplicatedLog({ slot: 0, configuration: before });
  const { members: _, ...rest } = before;
  const configuration = { ...rest, members: members('a', 'd', 'e'), leader: 0, placement: before.placement };
  const replaced = { ballot: 33, operation: { kind: 'configuration', configuration } } as const;
  const report = {
    kind: 'prepared',
    ballot: 65,
    chosen: 0,
    committed: 0,
    votes: 1,
    isComplete: true,
  } as const;
  const candidacy = new Candidacy(65, 0);
  expect(candidacy.report('a', { ...report, entries: [replaced] }, 'a', log).is).toBe('open');
  expect(candidacy.report('d', { ...report, entries: [] }, 'a', log).is).toBe('open');
  expect(candidacy.report('e', { ...report, entries: [] }, 'a', log).is).toBe('open');
  expect(candidacy.report('b', { ...report, entries: [] }, 'a', log).is).toBe('elected');
});

it('asks for a ballot above one that it never heard of, once a member names that ballot in its no', () => {
  const trio = new Trio();
  const [leader, promiser] = [trio.leader, trio.follower];
  const candidate = ['a', 'b', 'c'].find((name) => name !== leader && name !== promiser) as string;
  const sentBy = <Kind extends Message['kind']>(name: string, kind: Kind) =>
    (trio.effects.get(name) ?? []).flatMap((effect) =>
      effect.do === 'send' && effect.message.kind === kind
        ? [effect.message as Extract<Message, { kind: Kind }>]
        : [],
    );
  const lastQuestion = () => sentBy(candidate, 'pre-vote').at(-1) ?? expect.unreachable();
  const promised = ballotOf(1_000, 0);
  for (const name of [leader, promiser]) trio.cutOff.add(name);
  const prepare = { kind: 'prepare', ballot: promised, chosen: 0 } as const;
  trio.input(promiser, (replica) => replica.receive(leader, prepare, trio.now));
  trio.pass(2_000);
  const question = lastQuestion();
  expect(question.ballot).toBeLessThan(promised);

  trio.input(promiser, (replica) => replica.receive(candidate, question, trio.now));
  const no = sentBy(promiser, 'pre-voted').at(-1) ?? expect.unreachable();
  expect(no).toEqual({ kind: 'pre-voted', ballot: promised, isYes: false });
  trio.input(candidate, (replica) => replica.receive(promiser, no, trio.now));
  trio.pass(2_000);
  expect(lastQuestion().ballot).toBeGreaterThan(promised);
});
