import { describe, expect, it } from 'vitest';
import { playOwner } from './owner-script.ts';

// In these scripts a lease lasts 9000 ms. `owner-script.ts` says how they are read.
function plays(script: string): void {
  const { went, written } = playOwner(script);
  expect(went).toBe(written);
}

/** It has asked. */
const STARTED = `
      0     wake
              > m1: report 1?
              > m2: report 1?`;

describe('an owner that has just started', () => {
  it('asks every Manager, again and again, and holds nothing meanwhile', () =>
    plays(`
      0     wake
              > m1: report 1?
              > m2: report 1?
      499   wake
      500   wake
              > m1: report 2?
              > m2: report 2?
      500   check 0
              > not held
    `));

  it('shows that it hears when a Manager asks, is admitted by the first update that says so, and confirms that', () =>
    plays(`${STARTED}
      20    update 1.1 ack=1 admitted=no
              > m1: report 2
      30    update 1.2 ack=2
              > admitted
              > m1: report 3
      40    update 1.3 ack=2
    `));

  it('shows it every time it is asked: what it said may be lost', () =>
    plays(`${STARTED}
      20    update 1.1 ack=1 admitted=no
              > m1: report 2
      500   update 1.2 ack=1 admitted=no
              > m1: report 3
    `));

  it('is admitted again, and says so, if it was a candidate in between', () =>
    plays(`${STARTED}
      20    update 1.1 ack=1
              > admitted
              > m1: report 2
      30    update 1.2 ack=1 admitted=no
              > m1: report 3
      40    update 1.3 ack=3
              > admitted
              > m1: report 4
    `));

  it('serves what it is granted, and says so', () =>
    plays(`${STARTED}
      20    update 1.1 ack=1 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      20    check 7
              > held #2
      20    check 8
              > not held
    `));

  it('holds nothing of what its predecessor held, for an update to another incarnation is not for it', () =>
    plays(`${STARTED}
      20    update 1.9 ack=1 incarnation=a.0 0-8#2
      30    update 1.1 ack=1 pool=other 0-8#2
      40    check 0
              > not held
    `));

  it('does not believe an answer to a report that it has not sent', () =>
    plays(`${STARTED}
      20    update 1.1 ack=2 0-8#2
    `));
});
