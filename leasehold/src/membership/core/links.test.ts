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
    links.update(instant(2_100), 850);
    links.update(instant(2_599), 0);
    expect(isUp(links)).toBe(true);
    links.update(instant(2_600), 0);
    expect(isUp(links)).toBe(false);
  });

  it('go down all the same if the process is late all the time', () => {
    const links = provenLinks();
    links.update(instant(2_100), 850);
    links.update(instant(2_650), 300);
    expect(isUp(links)).toBe(false);
  });
});
