/** Servers of a group as real processes, one of which has a clock that runs at another rate. The guard against suspensions sees nothing of that. */

import { describe, expect, it } from 'vitest';
import { GroupServers } from './harness/group-servers.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { nowMs, pause, until } from './harness/time.ts';

const NAMES = ['a', 'b', 'c'] as const;
type Servers = GroupServers<(typeof NAMES)[number]>;
const LEASE_MS = 1_500;
/** Clocks are compared for some seconds, and a view without the false one takes some seconds more. */
const FOUND_WITHIN_MS = 60_000;
const WINDOW_MS = 10 * LEASE_MS;
/** Longer than a conflict of the servers lasts that is not renewed. */
const APART_MS = 5 * LEASE_MS;

const withClock = (scene: Scene, rate: number, together = NAMES.slice()): Promise<Servers> =>
  GroupServers.open(scene, NAMES, { leaseMs: LEASE_MS, falseClock: { name: 'c', rate } }, together);

/** The views of this server since then, as heard here. */
const viewsSince = (group: Servers, name: (typeof NAMES)[number], fromMs: number): readonly unknown[] =>
  group
    .at(name)
    .events.filter(({ event, heardMs }) => event === 'view' && heardMs > fromMs)
    .map(({ members }) => members);

const hasComplained = (group: Servers): boolean =>
  NAMES.some((name) =>
    group
      .at(name)
      .events.some(({ event, message }) => event === 'log' && /^the clock of/.test(String(message))),
  );

describe('a server whose clock runs at another rate than those of the others', () => {
  it.for([
    ['at 0.7, slower than the bound', 0.7, 'at most'],
    ['at 1.4, faster than the bound', 1.4, 'at least'],
  ] as const)(
    '%s: is named by the others, and shares no view with them from then on',
    ([, rate, limit], context) =>
      onScene(
        async (scene) => {
          const group = await withClock(scene, rate, ['a', 'b']);
          const named = `the clock of c runs ${limit}`;
          await until(
            'a names the clock of c in its status',
            async () => String((await group.state('a', 'c'))['problem']).includes(named) || undefined,
            FOUND_WITHIN_MS,
          );
          await Promise.all([group.act(['a', 'b']), group.act(['c'])]);
          const apartMs = nowMs();
          await pause(APART_MS);
          for (const name of NAMES) {
            const shared = viewsSince(group, name, apartMs).filter((members) =>
              /[ab].*c/.test(String(members)),
            );
            expect(shared).toEqual([]);
          }
          const words = group.at('a').events.filter(({ event }) => event === 'log');
          expect(words.some(({ message }) => String(message).includes(named))).toBe(true);
        },
        { needs: ['faketime'], clocks: 'false' },
      )(context),
  );

  it(
    'at 0.87, within the bound: stays in one view with the others, and nobody complains',
    onScene(
      async (scene) => {
        const group = await withClock(scene, 0.87);
        await pause(2 * WINDOW_MS);
        await group.act(NAMES);
        expect(hasComplained(group)).toBe(false);
      },
      { needs: ['faketime'] },
    ),
  );
});
