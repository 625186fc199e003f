import { describe, expect, it } from 'vitest';
import { NO_CLIENTS } from './attachment.ts';
import { Graph } from './graph.ts';
import type { MemberId } from './incarnation.ts';
import type { ServerRecord } from './messages.ts';

const idOf = (name: string, startedMs = 1): MemberId => ({ name, incarnation: { startedMs, nonce: 0 } });

function record(name: string, links: readonly MemberId[], changes: Partial<ServerRecord> = {}): ServerRecord {
  const proposal = { key: '', members: [], number: 1, holdMs: 0, chain: [] };
  return {
    ...idOf(name),
    sequence: 1,
    links,
    cannotReach: [],
    list: NO_CLIENTS,
    proposal,
    hasLeft: false,
    ...changes,
  };
}

const graphOf = (...records: readonly ServerRecord[]): Graph =>
  new Graph(new Map(records.map((each) => [each.name, { record: each }])));

const membersOf = (graph: Graph, name: string): string => [...graph.membersWith(name)].sort().join(' ');

const [a, b, c] = [idOf('a'), idOf('b'), idOf('c')];

describe('the graph of a group', () => {
  it('has an edge only where both sides list each other', () => {
    const graph = graphOf(record('a', [b]), record('b', [a, c]), record('c', []));
    expect(membersOf(graph, 'a')).toBe('a b');
    expect(membersOf(graph, 'c')).toBe('c');
  });

  it('has no edge to an earlier incarnation, nor to a server that has left', () => {
    expect(membersOf(graphOf(record('a', [idOf('b', 0)]), record('b', [a])), 'a')).toBe('a');
    expect(membersOf(graphOf(record('a', [b]), record('b', [a], { hasLeft: true })), 'a')).toBe('a');
  });

  it('takes out the server in most conflicts, and of two the one with the greater name', () => {
    const links = [a, b, c];
    const two = graphOf(record('a', links, { cannotReach: [b] }), record('b', links), record('c', links));
    expect(membersOf(two, 'a')).toBe('a c');
    expect(membersOf(two, 'b')).toBe('b');
    const most = graphOf(
      record('a', links),
      record('b', links, { cannotReach: [a] }),
      record('c', links, { cannotReach: [a] }),
    );
    expect(membersOf(most, 'b')).toBe('b c');
    expect(membersOf(most, 'a')).toBe('a');
  });

  it('forgets a conflict with an earlier incarnation', () => {
    const graph = graphOf(record('a', [b], { cannotReach: [idOf('b', 0)] }), record('b', [a]));
    expect(membersOf(graph, 'a')).toBe('a b');
  });

  it('says over which server a packet goes', () => {
    const graph = graphOf(record('a', [b]), record('b', [a, c]), record('c', [b]));
    expect(graph.nextHop('a', 'c')).toBe('b');
    expect(graph.nextHop('a', 'b')).toBe('b');
    expect(graph.nextHop('a', 'd')).toBeUndefined();
  });
});

describe('a graph whose records change', () => {
  /** Each step replaces, adds or removes one record. */
  const steps: readonly (ServerRecord | string)[] = [
    record('a', [b, c]),
    record('b', [a, c]),
    record('c', [a, b]),
    record('b', [a]),
    record('c', [a], { hasLeft: true }),
    record('c', [b], { ...idOf('c', 2) }),
    record('b', [a, idOf('c', 2)]),
    'a',
    record('a', [b]),
    'b',
  ];

  it('is the same after each change as a graph made anew', () => {
    const records = new Map<string, { record: ServerRecord }>();
    const graph = new Graph(records);
    for (const step of steps) {
      const name = typeof step === 'string' ? step : step.name;
      if (typeof step === 'string') records.delete(name);
      else records.set(name, { record: step });
      graph.update(name);
      const anew = new Graph(records);
      for (const each of ['a', 'b', 'c']) {
        expect(membersOf(graph, each)).toBe(membersOf(anew, each));
        for (const to of ['a', 'b', 'c']) expect(graph.nextHop(each, to)).toBe(anew.nextHop(each, to));
      }
    }
  });

  it('gives the same set as long as nothing in it has changed, and another one for another list of clients', () => {
    const records = new Map(
      [record('a', [b]), record('b', [a])].map((each) => [each.name, { record: each }]),
    );
    const graph = new Graph(records);
    const self = { ...a, listVersion: 0 };
    const set = graph.membershipWith(self);
    expect(graph.membershipWith({ ...self })).toBe(set);
    records.set('b', { record: record('b', [a], { list: { version: 1, clients: [], parts: [] } }) });
    expect(graph.membershipWith(self).key).not.toBe(set.key);
    expect(graph.membershipWith({ ...self, listVersion: 1 }).key).not.toBe(graph.membershipWith(self).key);
  });
});
