import { describe, expect, it } from 'vitest';
import { type OwnerScriptOptions, playOwner } from '../owner/owner-script.ts';

const plays = (script: string, options: OwnerScriptOptions = {}): void => {
  const { went, written } = playOwner(script, options);
  expect(went).toBe(written);
};

/** Holds 0-8 under 2. */
const HOLDS = `
  0 moves
  0 wake
    > m1: report 1?
    > m2: report 1?
  10 update 1.1 ack=1 0-8#2
    > admitted
    > granted 0-8#2
    > m1: report 2, held 0-8#2
`;

describe('the source of a move', () => {
  it('hands keys over in the order of the phases, and serves them until the freeze', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      30 move caughtUp t
        > stop t by 130
      40 check 1
        > held #2
      40 move stopped t
        > freeze t
      40 check 1
        > not held
      40 since 1 2
        > broken
      40 move sealed t digest=d
      50 move acknowledged t digest=d
        > handed t
        > m1: report 4, handed t:0-8#2=d
      60 update 1.3 ack=4
        > departed 0-8#2
        > m1: report 5
    `);
  });

  it('serves on under the same number if the target does not acknowledge in time, and never hands over by that ticket', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      30 move caughtUp t
        > stop t by 130
      40 move stopped t
        > freeze t
      40 move sealed t digest=d
      290 wake
        > abandon t
        > m1: report 4, held 0-8#2
      291 check 1
        > held #2
      291 move acknowledged t digest=d
      292 update 1.3 ack=3 0-8#2 moves=t:0-8#2>b
    `);
  });

  it('hands nothing over when the target acknowledges another digest', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      30 move caughtUp t
        > stop t by 130
      40 move stopped t
        > freeze t
      40 move sealed t digest=d
      50 move acknowledged t digest=e
    `);
  });

  it('serves on after a stop that is too long, and stops again later', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      30 move caughtUp t
        > stop t by 130
      130 wake
        > resume t
        > m1: report 4, held 0-8#2, moving t:0-8#2
      140 move caughtUp t
      630 wake
        > stop t by 730
    `);
  });

  it('says how much was sent every 300 ms, for those who watch', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      30 move sent t bytes=100
      319 move sent t bytes=2000
      320 move sent t bytes=2100
        > m1: report 4, held 0-8#2, moving t:0-8#2, 2100 bytes
      330 move sent t bytes=2200
      620 move sent t bytes=4000
        > m1: report 5, held 0-8#2, moving t:0-8#2, 4000 bytes
    `);
  });

  it('does not stop when no Manager was heard lately', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      1520 move caughtUp t
      1530 update 1.3 ack=3 0-8#2 moves=t:0-8#2>b
        > stop t by 1630
    `);
  });

  it('abandons a ticket when a part of its keys is asked back', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      30 move caughtUp t
        > stop t by 130
      40 update 1.3 ack=3 0-4#2 4-8#2! moves=t:0-8#2>b
        > abandon t
        > revoking 4-8#2
        > dropped 4-8#2
        > m1: report 4, held 0-4#2, let go released:4-8#2
      50 check 1
        > held #2
    `);
  });

  it('abandons a ticket when another one names the same keys, although the update knows nothing of the first', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      30 update 1.3 ack=2 0-8#2 moves=u:0-8#2>c
        > abandon t
        > stream u 0-8#2 to c
        > m1: report 4, held 0-8#2, moving u:0-8#2
      40 move caughtUp u
        > stop u by 140
    `);
  });

  it('goes on under a number that continues the one that was handed', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      30 move caughtUp t
        > stop t by 130
      40 move stopped t
        > freeze t
      40 move sealed t digest=d
      50 move acknowledged t digest=d
        > handed t
        > m1: report 4, handed t:0-8#2=d
      60 update 1.3 ack=4 0-8#5<0-8#2
        > returned 0-8#5
        > m1: report 5, held 0-8#5
      70 since 1 2
        > continuous
    `);
  });

  it('keeps what was handed when it leaves, and is a member until the table has answered', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-4#2>b
        > stream t 0-4#2 to b
        > m1: report 3, held 0-8#2, moving t:0-4#2
      30 move caughtUp t
        > stop t by 130
      40 move stopped t
        > freeze t
      40 move sealed t digest=d
      50 move acknowledged t digest=d
        > handed t
        > m1: report 4, held 4-8#2, handed t:0-4#2=d
      60 leave
        > revoking 4-8#2
        > dropped 4-8#2
        > m1: report 5?, let go released:4-8#2, leaving, handed t:0-4#2=d
      70 update 1.3 ack=5
        > departed 0-4#2
        > m1: report 6, leaving
      80 update 1.4 ack=6 admitted=no
        > left
    `);
  });

  it('forgets a ticket only when a Manager that heard of it names it no more', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      30 update 2.1 ack=2 0-8#2
        > m1: report 4, held 0-8#2, moving t:0-8#2
      40 update 2.2 ack=4 0-8#2
        > abandon t
        > m1: report 5, held 0-8#2
    `);
  });
});

/** Will be brought 8-12 by `b`. */
const EXPECTS = `${HOLDS}
      20 update 1.2 ack=2 0-8#2 incoming=t:8-12#3<b
        > receive t 8-12#3 from b
        > m1: report 3, held 0-8#2, receiving t:8-12#3
`;

/** Drains until 4000, which is near enough for the last stop: it has as long as a release. */
const LAST_STOP = `${HOLDS}
      20 drain 4000
        > m1: report 3?, held 0-8#2, draining
      1990 update 1.2 ack=3 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 4, held 0-8#2, draining, moving t:0-8#2
      2000 move caughtUp t
        > stop t by 5000, the last
`;

describe('the target of a move', () => {
  it('takes keys that came by a ticket together with their state', () => {
    plays(`${EXPECTS}
      30 move staged t digest=d
        > m1: report 4, held 0-8#2, receiving t:8-12#3=d
      40 update 1.3 ack=4 0-8#2 8-12#9 arrived=t:8-12#9
        > commit t 8-12#9
        > arriving 8-12#9
        > m1: report 5, held 0-8#2 8-12#9
      50 check 9
        > held #9
    `);
  });

  it('releases keys that came by a ticket if it has not all of their state', () => {
    plays(`${EXPECTS}
      40 update 1.3 ack=3 0-8#2 8-12#9 arrived=t:8-12#9
        > discard t
        > m1: report 4, held 0-8#2, let go released:8-12#9
    `);
  });

  it('takes keys without a ticket as empty, whatever is staged', () => {
    plays(`${EXPECTS}
      30 move staged t digest=d
        > m1: report 4, held 0-8#2, receiving t:8-12#3=d
      40 update 1.3 ack=4 0-8#2 8-12#9
        > granted 8-12#9
        > discard t
        > m1: report 5, held 0-8#2 8-12#9
    `);
  });

  it('keeps an import that the Manager has not heard of', () => {
    plays(`${EXPECTS}
      30 move staged t digest=d
        > m1: report 4, held 0-8#2, receiving t:8-12#3=d
      40 update 2.1 ack=3 0-8#2
        > m1: report 5, held 0-8#2, receiving t:8-12#3=d
      50 update 2.2 ack=5 0-8#2
        > discard t
        > m1: report 6, held 0-8#2
    `);
  });

  it('drops imports when it leaves', () => {
    plays(`${EXPECTS}
      30 leave
        > discard t
        > revoking 0-8#2
        > dropped 0-8#2
        > m1: report 4?, let go released:0-8#2, leaving
    `);
  });
});

describe('an owner that drains', () => {
  it('leaves when it holds nothing and has no import', () => {
    plays(`${HOLDS}
      20 drain 9000
        > m1: report 3?, held 0-8#2, draining
      30 update 1.2 ack=3 0-8#2 incoming=t:8-12#3<b
        > receive t 8-12#3 from b
        > m1: report 4, held 0-8#2, draining, receiving t:8-12#3
      40 flushed 0-8#2
      50 update 1.3 ack=4 0-8#2! incoming=t:8-12#3<b
        > revoking 0-8#2
        > dropped 0-8#2
        > m1: report 5, let go released:0-8#2, draining, receiving t:8-12#3
      60 update 1.4 ack=5 incoming=t:8-12#3<b
        > m1: report 6, draining, receiving t:8-12#3
      70 update 1.5 ack=6
        > discard t
        > m1: report 7?, leaving, draining
    `);
  });

  it('leaves when it hears that it is no member', () => {
    plays(`${HOLDS}
      20 drain 9000
        > m1: report 3?, held 0-8#2, draining
      30 update 1.2 ack=3 admitted=no
        > revoking 0-8#2
        > dropped 0-8#2
        > m1: report 4?, let go released:0-8#2, leaving, draining
    `);
  });

  it('drains as long as another process has joined under its name, whatever it wants', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 asked=draining
        > m1: report 3, held 0-8#2, draining
      30 drain
        > m1: report 4?, held 0-8#2, draining
      40 update 1.3 ack=4 0-8#2
        > m1: report 5, held 0-8#2
    `);
  });

  it('knows how many owners could take its keys, as its Manager said last', () => {
    plays(`${HOLDS}
      20 drain 9000
        > m1: report 3?, held 0-8#2, draining
      25 knows
        > draining, targets ?, heard at 10
      30 update 1.2 ack=3 0-8#2 targets=0
      35 knows
        > draining, targets 0, heard at 30
      40 update 2.1 ack=3 0-8#2
        > m1: report 4, held 0-8#2, draining
      45 knows
        > draining, targets ?, heard at 40
    `);
  });
});

describe('an owner that an operator wants emptied', () => {
  it('hands all over, and stays a member', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 asked=emptying
        > m1: report 3, held 0-8#2, emptying
      30 update 1.3 ack=3 0-8#2! asked=emptying targets=1
        > revoking 0-8#2
        > dropped 0-8#2
        > m1: report 4, let go released:0-8#2, emptying
      40 update 1.4 ack=4 asked=emptying targets=1
        > m1: report 5, emptying
      50 knows
        > emptying, targets 1, heard at 40, drained
      60 update 1.5 ack=5 asked=cordoned
        > m1: report 6, cordoned
      70 update 1.6 ack=6
        > m1: report 7
    `);
  });

  it('does not leave when it hears that it is no member: it joins again', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 asked=emptying
        > m1: report 3, held 0-8#2, emptying
      30 update 1.3 ack=3 admitted=no
        > m1: report 4, held 0-8#2, emptying
    `);
  });
});

/** Everything is sent, and the keys stop. */
const STOPS = `${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      30 move caughtUp t
        > stop t by 130
`;

/** The target has said its digest: the keys are handed. */
const HANDED = `${STOPS}
      40 move stopped t
        > freeze t
      40 move sealed t digest=d
      50 move acknowledged t digest=d
        > handed t
        > m1: report 4, handed t:0-8#2=d
`;

describe('what takes keys out of the hands of a ticket', () => {
  it('is a lapse', () => {
    plays(`${HOLDS}
      20 update 1.2 ack=2 0-8#2 moves=t:0-8#2>b
        > stream t 0-8#2 to b
        > m1: report 3, held 0-8#2, moving t:0-8#2
      9020 move caughtUp t
        > abandon t
        > lapsed 0-8#2
        > m1: report 4, let go lapsed:0-8#2
    `);
  });

  it('is a suspension of the machine', () => {
    plays(`${STOPS}
      40 suspended
        > abandon t
        > lapsed 0-8#2
      50 move stopped t
        > m1: report 4, let go lapsed:0-8#2
    `);
  });

  it('is a disagreement of the Managers, which also ends what was handed', () => {
    plays(`
      0 moves
      0 wake
        > m1: report 1?
        > m2: report 1?
      5 roles m1=h m2=-
      10 update 1.1 ack=1 0-8#2
        > admitted
        > granted 0-8#2
        > m1: report 2, held 0-8#2
      20 update 1.2 ack=2 0-8#2 moves=t:0-4#2>b incoming=u:8-12#3<b
        > stream t 0-4#2 to b
        > receive u 8-12#3 from b
        > m1: report 3, held 0-8#2, moving t:0-4#2, receiving u:8-12#3
      30 move staged u digest=e
        > m1: report 4, held 0-8#2, moving t:0-4#2, receiving u:8-12#3=e
      30 move caughtUp t
        > stop t by 130
      40 move stopped t
        > freeze t
      40 move sealed t digest=d
      50 move acknowledged t digest=d
        > handed t
        > m1: report 5, held 4-8#2, receiving u:8-12#3=e, handed t:0-4#2=d
      4500 wake
        > m1: report 6?, held 4-8#2, receiving u:8-12#3=e, handed t:0-4#2=d
      4510 roles m1=h m2=other
      5010 wake
        > m1: report 7?, held 4-8#2, receiving u:8-12#3=e, handed t:0-4#2=d
        > m2: report 7?, held 4-8#2, receiving u:8-12#3=e, handed t:0-4#2=d
      5020 roles m1=h m2=other
        > disagree m1=h m2=other
        > discard u
        > dropped 0-4#2 4-8#2
    `);
  });

  it('is another history, which also ends what was handed', () => {
    plays(`${HANDED}
      60 update 2.1 history=other ack=4
        > dropped 0-8#2
        > m1: report 5
    `);
  });

  it('is another number of a part of the keys', () => {
    plays(`${STOPS}
      40 update 1.3 ack=3 0-4#2 4-8#5<4-8#2 moves=t:0-8#2>b
        > abandon t
        > m1: report 4, held 0-4#2 4-8#5
      50 move stopped t
    `);
  });
});

describe('a stop whose onDepart fails', () => {
  it('hands nothing over, and the owner serves on', () => {
    plays(`${STOPS}
      40 move stopFailed t
        > abandon t
        > m1: report 4, held 0-8#2
      45 check 1
        > held #2
      50 move stopped t
    `);
  });

  it('releases the keys, if it was the last stop of a drain: the next owner must not read an old store in silence', () => {
    plays(`${LAST_STOP}
      2010 move stopFailed t
        > abandon t
        > dropped 0-8#2
        > m1: report 5, let go released:0-8#2, draining
    `);
  });
});

describe('the last stop of a drain', () => {
  it('has as long as a release, and releases keys that could not be stopped by then', () => {
    plays(`${LAST_STOP}
      5000 wake
        > abandon t
        > dropped 0-8#2
        > m1: report 5, let go released:0-8#2, draining
        > m1: report 6?, let go released:0-8#2, draining
    `);
  });
});

describe('an import', () => {
  it('counts no more when the stage was dropped, and is told again when it is complete again', () => {
    plays(`${EXPECTS}
      30 move staged t digest=d
        > m1: report 4, held 0-8#2, receiving t:8-12#3=d
      40 move unstaged t
        > m1: report 5, held 0-8#2, receiving t:8-12#3
      50 move staged t digest=e
        > m1: report 6, held 0-8#2, receiving t:8-12#3=e
    `);
  });

  it('arrives again under the next number after a lapse, before the keys are served', () => {
    plays(
      `${EXPECTS}
      30 loaded 0-8#2
      30 move staged t digest=d
        > m1: report 4, held 0-8#2, receiving t:8-12#3=d
      40 update 1.3 ack=4 0-8#2 8-12#9 arrived=t:8-12#9
        > commit t 8-12#9
        > arriving 8-12#9
        > m1: report 5, held 0-8#2 8-12#9
      50 check 9
        > not held
      9030 wake
        > lapsed 0-8#2 8-12#9
        > m1: report 6, let go lapsed:0-8#2 lapsed:8-12#9
        > m1: report 7?, let go lapsed:0-8#2 lapsed:8-12#9
      9040 update 1.4 ack=6 0-8#10<0-8#2 8-12#10<8-12#9
        > resumed 0-8#10
        > arriving 8-12#10
        > m1: report 8, held 0-8#10 8-12#10
      9050 check 9
        > not held
      9060 loaded 8-12#10
      9060 check 9
        > held #10
    `,
      { loads: true },
    );
  });
});
