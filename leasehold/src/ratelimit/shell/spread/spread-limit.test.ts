/** Groups in one process, over real sockets on loopback. Each test waits for a condition, so a busy machine only makes it longer. */

import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { GroupMember } from '../../../membership/shell/group-member.ts';
import { joinGroup } from '../../../membership/shell/join-group.ts';
import { serveStatus } from '../../../node/service/serve-status.ts';
import { lastingAddresses } from '../../../node/testing/lasting-port.ts';
import { type LogFacts, type Logger, silent } from '../../../runtime/logger.ts';
import type { Limiter } from '../limiter.ts';
import { ratelimit } from '../ratelimit.ts';
import { groupTotals } from './group-totals.ts';
import { METRICS } from './metrics.ts';
import { complaintsAbout } from '../../../node/testing/exposition.ts';

const LONG_MS = 60_000;
/** Long enough that views last on a busy machine. */
const LEASE_MS = 3_000;

const groups: GroupMember[] = [];
afterEach(async () => {
  await Promise.all(groups.splice(0).map((group) => group.close()));
});

const until = (isSo: () => boolean): Promise<boolean> =>
  vi.waitUntil(isSo, { timeout: LONG_MS, interval: 10 });

async function join(names: readonly string[], logger: Logger = silent): Promise<GroupMember[]> {
  const addresses: Readonly<Record<string, string>> = await lastingAddresses(...names);
  const joining = names.map((name) => {
    const { [name]: listen = '', ...peers } = addresses;
    return joinGroup({ name, listen, peers, maxServers: names.length, leaseMs: LEASE_MS, logger });
  });
  const joined = await Promise.all(joining);
  groups.push(...joined);
  return joined;
}

const limit = (group: GroupMember, changes = {}): Limiter =>
  ratelimit({ name: 'api', limit: 1_000, burst: 100, spread: group, ...changes });

describe('a spread limit over real sockets', { timeout: LONG_MS }, () => {
  it('gives the member with all the traffic nearly all of the limit, and never more to all', async () => {
    const limiters = (await join(['a', 'b', 'c'])).map((group) => limit(group));
    const [hot] = limiters;
    await until(() => limiters.every((each) => each.spread?.takesPart === true));
    expect(limiters.map((each) => each.spread?.credits)).toEqual([1, 1, 1]);
    let allowed = 0;
    const startedAt = performance.now();
    await until(() => {
      for (let request = 0; request < 30; request++)
        if (hot?.tryConsume('ann').allowed === true) allowed += 1;
      return (hot?.spread?.levelPerSecond ?? 0) > 900;
    });
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(allowed).toBeLessThanOrEqual(1_000 * seconds * 1.2 + 100);
    const levels = limiters.map((each) => each.spread?.levelPerSecond ?? 0);
    expect(levels.reduce((sum, level) => sum + level, 0)).toBeLessThanOrEqual(1_000.001);
    expect(hot?.tryConsume('ann', { cost: 101 })).toMatchObject({ allowed: false, denied: 'cost' });
    expect(hot?.peek('ann').by).toBe('spread');
  });

  it('stays at 1/n, by share, until every member has made the limiter', async () => {
    const [one, other] = await join(['a', 'b']);
    if (one === undefined || other === undefined) throw new Error('two groups were joined');
    const first = limit(one);
    await until(() => one.standing() === 'acts' && first.spread?.waitsFor.join() === 'b');
    expect(first.peek('ann').by).toBe('share');
    expect(first.spread).toMatchObject({ takesPart: false, levelPerSecond: 500 });
    limit(other);
    await until(() => first.spread?.takesPart === true);
  });

  it('allows nothing after the process has left the group', async () => {
    const [group] = await join(['a']);
    if (group === undefined) throw new Error('a group was joined');
    const limiter = limit(group);
    await until(() => limiter.tryConsume('ann').allowed);
    await group.close();
    expect(limiter.tryConsume('ann')).toMatchObject({ allowed: false, denied: 'closed', by: 'closed' });
  });

  it('names the member that made the limiter with another limit', async () => {
    const warnings: [string, LogFacts | undefined][] = [];
    const logger: Logger = { ...silent, warn: (text, facts) => void warnings.push([text, facts]) };
    const [one, other] = await join(['a', 'b'], logger);
    if (one === undefined || other === undefined) throw new Error('two groups were joined');
    limit(one);
    limit(other, { limit: 2_000 });
    await until(() => warnings.some(([, facts]) => facts?.['member'] === 'b'));
    expect(warnings.find(([, facts]) => facts?.['member'] === 'b')?.[1]).toMatchObject({
      tokensPerSecond: 2_000,
    });
  });

  it('shows its metrics with those of the group, those of two limiters together', async () => {
    const [group] = await join(['a']);
    if (group === undefined) throw new Error('a group was joined');
    limit(group);
    limit(group, { name: 'other' });
    await using server = await serveStatus(group, { listen: '127.0.0.1:0' });
    const text = await (await fetch(`${server.url}/metrics`)).text();
    expect(complaintsAbout(text)).toEqual([]);
    expect(text.match(/# TYPE leasehold_ratelimit_spread_credits gauge/g)).toHaveLength(1);
    expect(text).toContain('leasehold_ratelimit_spread_credits{group="default",limiter="api"} 1');
    expect(text).toContain('leasehold_ratelimit_spread_credits{group="default",limiter="other"} 1');
  });

  it('refuses what it cannot do', async () => {
    const [group] = await join(['a']);
    if (group === undefined) throw new Error('a group was joined');
    expect(() => limit(group, { spread: { name: 'a client' } })).toThrow('option spread.name');
    expect(() => limit(group, { spread: { group: 'default' } })).toThrow('the group that joinGroup returned');
    expect(() => limit(group, { spread: { group, everyMs: 1 } })).toThrow('from 10 to 10,000');
    expect(() => limit(group, { name: undefined })).toThrow('needs a name');
    expect(() => limit(group, { maxServers: 0 })).toThrow('of at least 1');
    expect(() => limit(group, { maxServers: 1_000 })).toThrow('most servers that the group ever has');
    expect(() => limit(group, { maxServers: 20, burst: 10 })).toThrow('each of 20 members needs a token');
    expect(() => limit(group, { spread: { group, demand: 'love' } })).toThrow(
      "it must be 'arrivals' or 'keys' or 'flows'",
    );
    expect(() => limit(group, { whenLost: 'full' })).toThrow('a spread limit has no such option');
    expect(() => limit(group, { limit: 0 })).toThrow('positive');
    const limiter = limit(group);
    expect(() => limit(group)).toThrow('uses this name in this group already');
    expect(() => limiter.tryConsume('ann', { limit: 5 })).toThrow('one limit for all keys');
    expect(() => limiter.block('ann', { forMs: 5 })).toThrow('counts all keys together');
    expect(() => limiter.reset('ann')).toThrow('counts all keys together');
    expect(() => limiter.tryConsume('ann', { cost: -1 })).toThrow('not negative');
  });
});

describe('group totals', { timeout: LONG_MS }, () => {
  it('tell every member the sum of the numbers of all', async () => {
    const joined = await join(['a', 'b', 'c']);
    const totals = joined.map((group, index) =>
      groupTotals(group, { name: 'load', value: () => 10 * (index + 1) }),
    );
    await until(() => totals.every(({ total, members }) => members === 3 && Math.abs(total - 60) < 0.6));
    for (const each of totals) each[Symbol.dispose]();
  });
});

describe('the metrics of a spread limit', () => {
  it('are those that docs/metrics.md lists, and no other', () => {
    const text = readFileSync(new URL('../../../../../docs/metrics.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^\| `(leasehold_ratelimit_spread_\w+)` \| (\w+) \| .* \| (.*) \|$/gm)];
    expect(rows.map(([, name, type, help]) => [name, type, help])).toEqual(
      METRICS.map(({ name, type, help }) => [name, type, help]),
    );
  });
});
