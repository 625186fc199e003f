import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { resolveDurations } from './durations.ts';
import { Links } from './links.ts';

const durations = resolveDurations(); // A heartbeat each 250 ms; down after 1 s, up after 0.5 s.

/** The link to `b`, which was proved for the last time at 1 s, and is up. */
function provenLinks(): Links {
  const links = new Links(['b'], durations);
  const link = links.to('b');
  for (let ms = 0; ms <= 1_000; ms += 250) {
    link.hear({ startedMs: 1, nonce: 0 }, instant(ms));
    link.prove(instant(ms), instant(ms));
    links.update(instant(ms), 0);
  }
  return links;
}

const isUp = (links: Links): boolean => links.to('b').isUp;

describe('the links of a server', () => {
  it('go down a second after the last stamp that was echoed', () => {
    const links = provenLinks();
    links.update(instant(1_999), 0);
    expect(isUp(links)).toBe(true);
    links.update(instant(2_000), 0);
    expect(isUp(links)).toBe(false);
  });

  it('stay up for two heartbeats after the process itself stood still, until a new stamp can have been echoed', () => {
    const links = provenLinks();
    links.update(instant(6_100), 4_850);
    links.update(instant(6_599), 0);
    expect(isUp(links)).toBe(true);
    links.update(instant(6_600), 0);
    expect(isUp(links)).toBe(false);
  });

  it('go down later if the process itself was late lately, and after three times as long at the latest', () => {
    const links = provenLinks();
    for (const ms of [1_250, 1_700, 2_150, 2_600, 3_050, 3_500, 3_950]) {
      links.update(instant(ms), 200);
      expect(isUp(links)).toBe(true);
    }
    links.update(instant(4_000), 200);
    expect(isUp(links)).toBe(false);
  });

  it('go down after a second again once the process has been in time for a while', () => {
    const links = provenLinks();
    for (const ms of [1_300, 1_700]) links.update(instant(ms), 200);
    for (let ms = 2_000; ms <= 6_000; ms += 250) {
      links.to('b').prove(instant(ms), instant(ms));
      links.update(instant(ms), 0);
    }
    links.update(instant(6_999), 0);
    expect(isUp(links)).toBe(true);
    links.update(instant(7_000), 0);
    expect(isUp(links)).toBe(false);
  });
});
