import { describe, expect, it } from 'vitest';
import { edgesOf, routeTo } from './graph-picture.ts';
import { pageAnswer } from './page.ts';
import type { GroupNode, GroupMemberStatus } from '../status.ts';

const node = (name: string, links: string, rest: Partial<GroupNode> = {}): GroupNode => ({
  ...{ name, links: links.split(''), cannotReach: [], hasLeft: false },
  ...rest,
});

const peer = (name: string, reach: 'direct' | 'overlay' | undefined, problem?: string) => ({
  ...{
    name,
    address: '127.0.0.1:1',
    isMember: reach !== undefined,
    isConnected: reach === 'direct',
    reach,
    problem,
  },
});

/** a–b and a–c are linked, b and c are not; d lists a only; e is in conflict with a. */
const STATUS: GroupMemberStatus = {
  ...{
    name: 'b',
    module: 'membership',
    role: 'member',
    instance: 'api',
    isReady: true,
    waitsFor: undefined,
    problems: [],
    maxServers: undefined,
    leaseMs: 1_500,
    state: 'in-view',
    stateForMs: 1,
    standing: 'acts',
  },
  view: { id: '1.2.x', members: ['a', 'b', 'c'], clients: ['x'], kept: [], lost: [] },
  registry: undefined,
  attachedClients: 1,
  waiting: 0,
  peers: [peer('a', 'direct'), peer('c', 'overlay'), peer('d', undefined, 'gone'), peer('e', undefined)],
  graph: [
    node('a', 'bc'),
    node('b', 'a'),
    node('c', 'a'),
    node('d', 'a'),
    node('e', '', { cannotReach: ['a'] }),
  ],
  counters: { changes: 0, views: 1, noViews: 0, messagesSent: 0, messagesFailed: 0, messagesReceived: 0 },
};

describe('the picture of a group', () => {
  it('tells links, routes, links of one side, conflicts, and members without a link apart', () => {
    expect(edgesOf(STATUS).map(({ one, other, kind }) => `${one}${other} ${kind}`)).toEqual([
      'ab route',
      'ac route',
      'ad one-way',
      'ae conflict',
      'bc down',
    ]);
    expect(edgesOf({ ...STATUS, name: 'a' }).map(({ kind }) => kind)).toContain('link');
  });

  it('finds the route that a message takes', () => {
    expect(routeTo(STATUS, 'c')).toEqual(['b', 'a', 'c']);
    expect(routeTo(STATUS, 'd')).toEqual([]);
  });

  it('shows which servers are registered in etcd, and why this one is not', () => {
    const registry = {
      members: ['10.0.1.1:2379'],
      prefix: 'shop/groups/api/',
      ttlMs: 3_000,
      isRegistered: false,
    };
    const { body } = pageAnswer({
      ...STATUS,
      registry: { ...registry, registered: ['a<'], problem: 'waits' },
    });
    expect(body).toContain('Registered in etcd (10.0.1.1:2379): a&lt;');
    expect(body).toContain('<p class="problem">waits</p>');
    expect(pageAnswer(STATUS).body).not.toContain('Registered');
  });

  it('shows names and problems as text, whatever is in them', () => {
    const evil = '<script>alert("x")</script>';
    const { body, headers } = pageAnswer({ ...STATUS, name: evil, peers: [peer('c', undefined, '<b>&')] });
    expect(body).not.toContain('<script');
    expect(body).toContain('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;');
    expect(body).toContain('&lt;b&gt;&amp;');
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; style-src 'sha256-/);
  });
});
