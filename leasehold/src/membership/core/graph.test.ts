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
