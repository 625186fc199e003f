import { describe, expect, it } from 'vitest';
import { type OwnerScriptOptions, playOwner } from './owner-script.ts';

// In these scripts a lease lasts 9000 ms. `owner-script.ts` says how they are read.
function plays(script: string, options: OwnerScriptOptions = {}): void {
  const { went, written } = playOwner(script, options);
  expect(went).toBe(written);
}

/** It has asked. */
const STARTED = `
      0     wake
              > m1: report 1?
              > m2: report 1?`;

/** And holds the first half of the ring, from the instant 0. */
const HOLDING = `${STARTED}
      10    update 1.1 ack=1 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2`;

describe('an owner that leaves', () => {
  it('gives everything back, and has left when the Manager knows', () =>
    plays(
      `${HOLDING}
      100   leave
              > revoking 0-8#2
              > m1: report 3?, held 0-8#2, leaving
      110   leave
      200   flushed 0-8#2
              > dropped 0-8#2
              > m1: report 4, let go released:0-8#2, leaving
      210   update 1.2 ack=3 0-8#2
      220   update 1.3 ack=4 admitted=no
              > left
      5000  wake
      9999  update 2.1 ack=4 0-8#9
    `,
      { flushes: true },
    ));

  it('has not left by an answer to what it said before', () =>
    plays(`${STARTED}
      10    update 1.1 ack=1
              > admitted
              > m1: report 2
      20    leave
              > m1: report 3?, leaving
      30    update 1.2 ack=2
      40    update 1.3 ack=3 admitted=no
              > left
    `));

  it('gives back unused what is granted to it before the Manager knows, and the application hears nothing of it', () =>
    plays(`${HOLDING}
      20    leave
              > revoking 0-8#2
              > dropped 0-8#2
              > m1: report 3?, let go released:0-8#2, leaving
      30    update 1.2 ack=2 0-8#2 8-16#3
              > m1: report 4, let go released:0-8#2 released:8-16#3, leaving
      40    check 8
              > not held
      50    update 1.3 ack=4 admitted=no
              > left
    `));

  it('is not kept from leaving by such a grant while it finishes with what it had', () =>
    plays(
      `${HOLDING}
      20    leave
              > revoking 0-8#2
              > m1: report 3?, held 0-8#2, leaving
      1000  update 1.2 ack=2 0-8#2 8-16#3
              > m1: report 4, held 0-8#2, let go released:8-16#3, leaving
      3000  flushed 0-8#2
              > dropped 0-8#2
              > m1: report 5, let go released:0-8#2 released:8-16#3, leaving
      3010  update 1.3 ack=5 admitted=no
              > left
    `,
      { flushes: true },
    ));
});

describe('a machine that was suspended', () => {
  it('holds nothing any more, and believes no answer to what it said before', () =>
    plays(`${HOLDING}
      20    suspended
              > lapsed 0-8#2
      21    update 1.2 ack=2 0-8#2 8-16#3
      22    check 8
              > not held
      22    wake
              > m1: report 3?, let go lapsed:0-8#2
      30    update 1.3 ack=3 0-8#5<0-8#2 8-16#3
              > resumed 0-8#5
              > granted 8-16#3
              > m1: report 4, held 0-8#5 8-16#3
    `));
});

describe('a log with another history', () => {
  it('begins again: what was held has no meaning there, whatever its term', () =>
    plays(`${STARTED}
      10    update 7.5 ack=1 0-8#200
              > admitted
              > granted 0-8#200
              > m1: report 2, held 0-8#200
      20    update 1.1 ack=2 history=new 4-12#2
              > dropped 0-8#200
              > granted 4-12#2
              > m1: report 3, held 4-12#2
      30    check 4
              > held #2
    `));

  it('replaces the old one for good: what is said of that has no effect, however late it comes', () =>
    plays(`${HOLDING}
      20    update 1.1 ack=2 history=new admitted=no
              > dropped 0-8#2
              > m1: report 3
      30    update 9.9 ack=3 0-8#2 8-16#7
      40    check 8
              > not held
      50    update 1.2 ack=3 history=new 4-12#2
              > admitted
              > granted 4-12#2
              > m1: report 4, held 4-12#2
    `));
});

describe('an owner whose leader says that another leads', () => {
  it('asks that one at once, and settles there', () =>
    plays(`${HOLDING}
      1450  wake
              > m1: report 3?, held 0-8#2
      1460  notLeader 2 m2
              > m2: report 4?, held 0-8#2
      1470  update 2.1 ack=4 from=m2 0-8#2
              > m2: report 5, held 0-8#2
      2910  wake
              > m2: report 6?, held 0-8#2
    `));

  it('asks everybody if it does not know that one', () =>
    plays(`${HOLDING}
      1450  wake
              > m1: report 3?, held 0-8#2
      1460  notLeader 2 m7
              > m1: report 4?, held 0-8#2
              > m2: report 4?, held 0-8#2
    `));

  it('does not run to and fro between two that point at each other', () =>
    plays(`${HOLDING}
      1450  wake
              > m1: report 3?, held 0-8#2
      1460  notLeader 3 m2
              > m2: report 4?, held 0-8#2
      1470  notLeader 2 m1 from=m2
      1480  notLeader 3 m1 from=m2
      1960  wake
              > m1: report 5?, held 0-8#2
              > m2: report 5?, held 0-8#2
    `));

  it('takes no notice of one that it did not take for the leader, or that knows of no later term', () =>
    plays(`${HOLDING}
      1450  wake
              > m1: report 3?, held 0-8#2
      1460  notLeader 2 m2 from=m2
      1470  notLeader 1 m2
    `));
});

describe('an owner whose Managers lead different histories', () => {
  it('uses no update before every Manager was asked', () =>
    plays(`
      0     wake
              > m1: report 1?
              > m2: report 1?
      10    update 1.1 ack=1 history=x 0-8#2
      20    check 0
              > not held
      30    roles m1=x
      40    roles m2=-
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      8999  check 0
              > held #2
      9000  check 0
              > not held
    `));

  it('waits for a Manager that does not answer, but not for long', () =>
    plays(`
      0     wake
              > m1: report 1?
              > m2: report 1?
      10    update 1.1 ack=1 history=x 0-8#2
      20    roles m1=x
      500   wake
              > m1: report 2?
              > m2: report 2?
      1999  check 0
              > not held
      2000  wake
              > admitted
              > granted 0-8#2
              > m1: report 3, held 0-8#2
              > m1: report 4?, held 0-8#2
    `));

  it('lets go of everything when both are led in two rounds, and takes nothing from either', () =>
    plays(`
      0     wake
              > m1: report 1?
              > m2: report 1?
      5     roles m1=x m2=-
      10    update 1.1 ack=1 history=x 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      4500  wake
              > m1: report 3?, held 0-8#2
      4510  roles m1=x m2=y
      4520  check 0
              > held #2
      5000  wake
              > m1: report 4?, held 0-8#2
              > m2: report 4?, held 0-8#2
      5010  roles m1=x m2=y
              > disagree m1=x m2=y
              > dropped 0-8#2
      5010  check 0
              > not held
      5010  since 0 2
              > broken
      5020  update 1.2 ack=4 history=x 0-8#2
      5020  update 1.1 ack=4 history=y from=m2 0-8#9
      5020  check 0
              > not held
      5500  wake
      5510  leave
    `));

  it('takes part again when one has been gone for a hold, and never under a number that it has let go of', () =>
    plays(`
      0     wake
              > m1: report 1?
              > m2: report 1?
      5     roles m1=x m2=y
      500   wake
              > m1: report 2?
              > m2: report 2?
      505   roles m1=x m2=y
              > disagree m1=x m2=y
      1000  wake
      1005  roles m1=x m2=-
      9000  wake
      9005  roles m1=x m2=-
      11484 wake
      11486 roles m1=x m2=-
              > agree
      11486 wake
              > m1: report 3?
              > m2: report 3?
      11490 update 1.5 ack=3 history=x 0-8#7
              > admitted
              > granted 0-8#7
              > m1: report 4, held 0-8#7
    `));

  it('hears no more of an earlier term when a Manager says that it leads a later one', () =>
    plays(`
      0     wake
              > m1: report 1?
              > m2: report 1?
      5     roles m1=x m2=-
      10    update 1.1 ack=1 history=x 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      2300  wake
              > m1: report 3?, held 0-8#2
      2310  roles m2=x.2
      2320  update 1.2 ack=3 history=x 0-8#2
      9000  check 0
              > not held
    `));

  it('takes nothing from the later of two terms while the earlier one is led', () =>
    plays(`
      0     wake
              > m1: report 1?
              > m2: report 1?
      5     roles m1=x m2=x.2
      10    update 2.1 ack=1 history=x from=m2 0-8#9
      20    check 0
              > not held
    `));

  it('lets go of everything when two processes lead one term', () =>
    plays(`
      0     wake
              > m1: report 1?
              > m2: report 1?
      5     roles m1=x m2=-
      10    update 1.1 ack=1 history=x 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      2300  wake
              > m1: report 3?, held 0-8#2
      2310  roles m1=x m2=x
              > disagree m1=x m2=x
              > dropped 0-8#2
    `));

  it('does not follow a second history while the first is led', () =>
    plays(`
      0     wake
              > m1: report 1?
              > m2: report 1?
      5     roles m1=x m2=-
      10    update 1.1 ack=1 history=x 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      1500  wake
              > m1: report 3?, held 0-8#2
      2000  wake
              > m1: report 4?, held 0-8#2
              > m2: report 4?, held 0-8#2
      2010  update 1.1 ack=4 history=y from=m2 0-8#9
      2020  check 0
              > held #2
    `));
});
