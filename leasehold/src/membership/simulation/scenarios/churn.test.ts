/** Servers that come and go all the time. */

import { describe, expect, inject, it } from 'vitest';
import type { Server } from '../server.ts';
import { allAct, msUntil, quietGroup, run, serverAt, viewsOf } from './quiet-group.ts';

const LEAVING_MS = 400;
/** A name is forgotten after a time in which 167 come and go: 300 names show whether it is. 1,000 would show a slower growth. */
const NAMES = inject('long') ? 1_000 : 300;

describe('servers that come and go', () => {
  it(`names-come-and-go: with ${NAMES} names, 1,000 an hour, records and heartbeats stay few`, () => {
    const names = NAMES;
    const everyMs = 3_600;
    const group = quietGroup(3);
    const { network, servers } = group;
    const { durations, names: seeds } = group.drawn;
    let [most, views, sentBefore] = [0, 0, 0];
    let guest: Server | undefined;
    for (let index = 0; index < names; index += 1) {
      // Half of them leave, half of them just vanish; none comes back.
      if (guest !== undefined) {
        if (index % 2 === 0) guest.leave();
        run(group, LEAVING_MS);
        guest.crash();
        servers.splice(servers.indexOf(guest), 1);
      }
      guest = group.add(`guest-${index}`, seeds);
      group.startServer(guest);
      run(group, everyMs - LEAVING_MS);
      for (const { member } of servers.slice(0, 3)) most = Math.max(most, member?.records.size ?? 0);
      if (viewsOf(group).join() === `guest-${index} s1 s2 s3`) views += 1;
      if (index === names - 100) sentBefore = network.counts.sent;
    }
    expect(views).toBeGreaterThan(0.9 * names);
    // Four servers in a full mesh send 48 heartbeats a second; the rest is views, messages, and heartbeats to guests that have just gone.
    const perSecond = (network.counts.sent - sentBefore) / (99 * (everyMs / 1_000));
    expect(perSecond).toBeLessThan(200);
    const remembered = durations.forgetMs / everyMs;
    expect(most).toBeGreaterThan(remembered / 2); // Otherwise the test shows nothing.
    expect(most).toBeLessThan(remembered + 10);
    guest?.crash();
    run(group, durations.forgetMs + 30_000);
    expect(servers.slice(0, 3).map(({ member }) => member?.records.size)).toEqual([3, 3, 3]);
  });
});

/** The tests of this group come one after the other: its start takes longer than any of them. */
describe('a group of 50 servers', () => {
  const group = quietGroup(50);
  const all = [...group.drawn.names].sort().join(' ');

  it('silent-crash: has a view at most 1.5 s after a silent crash, and acts at most 3 s after it', () => {
    const server = serverAt(group, 49);
    server.crash();
    const rest = all.replace(` ${server.name} `, ' ');
    const viewMs = msUntil(group, () => viewsOf(group).join() === rest);
    const actsMs = viewMs + msUntil(group, () => allAct(group));
    expect(viewMs).toBeLessThanOrEqual(1_500);
    expect(actsMs).toBeLessThanOrEqual(3_000);
    group.startServer(server);
    expect(msUntil(group, () => viewsOf(group).join() === all && allAct(group))).toBeLessThan(5_000);
  });

  it.each([
    { everySeconds: 5, least: 0.7, which: [7, 31] },
    { everySeconds: 15, least: 0.9, which: [7, 31] },
    { everySeconds: 60, least: 0.97, which: [7] },
  ])(
    'churn: one leaves or joins every $everySeconds s, and all act more than $least of the time',
    ({ everySeconds, least, which }) => {
      let [asked, acted] = [0, 0];
      using _ = group.world.every([50, 50], () => {
        asked += 1;
        if (allAct(group)) acted += 1;
      });
      for (const index of which) {
        const server = serverAt(group, index);
        server.leave();
        run(group, LEAVING_MS);
        server.crash();
        run(group, everySeconds * 1_000 - LEAVING_MS);
        group.startServer(server);
        run(group, everySeconds * 1_000);
      }
      expect(viewsOf(group)).toEqual([all]);
      expect(acted / asked).toBeGreaterThan(least);
    },
  );
});
