import { describe, expect, it } from 'vitest';
import { play } from '../testing/play-proposer.ts';

// A lease is 1000 ms and renewed after 400, clocks are within 50, an answer is awaited for 100. The first pause is
// 1.6 ms, the longest 50. Attempts are counted; numbers are microseconds.

const plays = (script: string, busyFrom?: number): void => {
  const { went, written } = play(script, busyFrom);
  expect(went).toBe(written);
};

describe('a member that wants a lease', () => {
  it('has it when a majority has it written, from when it asked', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
    `));

  it('says so to its holder, and looks again when that must be over', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1 b#7@1800
              > enqueue a to b
      1849  wake
      1851  wake
              > read 2 to abc
    `));

  it('says so to the one it is left for, if that is another', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1 left:c:b#7@1800
              > enqueue a to c
    `));

  it('is given it in the order in which it came, whether it would have waited or not', () =>
    plays(`
      1000  try 1
              > query 1 to abc
      1001  acquire 2
      1010  ab found 1
              > read 2 to abc
      1020  ab promised 2
              > write 2 a#1010000@2010 to abc
      1030  ab accepted 2
              > granted 1 until 2010
    `));
});

describe('a member that releases a lease', () => {
  it('gives up the renewal that is under way, so that the others are told', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1401  wake
              > read 2 to abc
      1405  release
              > ended, released
              > read 3 to abc
      1410  ab promised 2 a#1000000@2000
      1415  ab promised 3 a#1000000@2000
              > write 3 free:a#1000000@2405 to abc
      1420  ab accepted 3
              > left
    `));

  it('pauses as if nothing had failed before, however often it could not be renewed', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1401  wake
              > read 2 to abc
      1402  bc refused 2 recovering
      1404  wake
              > read 3 to abc
      1405  bc refused 3 recovering
      1409  wake
              > read 4 to abc
      1410  bc refused 4 recovering
      1417  wake
              > read 5 to abc
      1418  bc refused 5 recovering
      1420  release
              > ended, released
              > read 6 to abc
      1421  bc refused 6 recovering
      1423  wake
              > read 7 to abc
    `));
});

describe('a member that is told of a lease left for it', () => {
  it('takes it before those who ask are told, even if one of them is about to ask again', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1 b#7@1800
              > enqueue a to b
      1020  ask 2
              > query 2 to abc
      1030  ab found 2 b#7@1800
              > told 2 b#7@1800
      1040  ask 3
              > query 3 to abc
      1050  a found 3 b#7@1800
      1050  b found 3 left:a:b#7@1900
      1051  notify
              > read 4 to abc
    `));
});

describe('a member that waits behind others', () => {
  it('is told to look, by a member that neither has the lease nor wants it', () =>
    plays(`
      1000  enqueue b
              > notify to b
    `));

  it('is told to look when the waiter before it gives up, and is told of the waiters behind it', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1 b#7@1800
              > enqueue a to b
      1020  enqueue c
      1021  enqueue b
      1030  cancel 1
              > dequeue a to abc
              > enqueue b to c
              > notify to c
    `));

  it('is told to look, if it came when nobody was known to wait, and it was written so', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1100  release
              > ended, released
              > read 2 to abc
      1110  ab promised 2 a#1000000@2000
              > write 2 free:a#1000000@2100 to abc
      1115  enqueue b
      1120  ab accepted 2
              > left
              > notify to b
    `));

  it('stands in line with the holder, when the holder is found', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1005  enqueue c
      1010  ab promised 1 b#7@1800
              > enqueue a to b
              > enqueue c to b
    `));

  it('does so no longer, if it is not in the group any more', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1030  enqueue c
      1031  enqueue b
      1040  regroup ab
      1100  release
              > ended, released
              > read 2 to ab
      1110  ab promised 2 a#1000000@2000
              > write 2 left:b:a#1000000@1400 to ab
    `));

  it('is told to look when it may be had by anybody, in case the one before it has died', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1030  enqueue c
      1031  enqueue b
      1100  release
              > ended, released
              > read 2 to abc
      1110  ab promised 2 a#1000000@2000
              > write 2 left:c:a#1000000@1400 to abc
      1120  ab accepted 2
              > enqueue b to c
              > notify to c
              > left
      1449  wake
      1451  wake
              > notify to b
    `));

  it('stays in line, when the one before it is of the process that gives it back', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1100  release
              > ended, released
              > read 2 to abc
      1105  acquire 2
      1106  enqueue c
      1110  ab promised 2 a#1000000@2000
              > write 2 left:a:a#1000000@1400 to abc
      1120  ab accepted 2
              > left
              > read 3 to abc
      1130  ab promised 3 left:a:a#1000000@1400
              > write 3 a#1120000@2120 to abc
      1140  ab accepted 3
              > granted 2 until 2120
      1150  release
              > ended, released
              > read 4 to abc
      1160  ab promised 4 a#1120000@2120
              > write 4 left:c:a#1120000@1450 to abc
    `));

  it('has those look who waited behind a successor, unless its own acceptor knows that somebody has had it', () => {
    const given = `
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1030  enqueue b
      1040  enqueue c
      1100  release
              > ended, released
              > read 2 to abc
      1110  ab promised 2 a#1000000@2000
              > write 2 left:b:a#1000000@1400 to abc
      1120  ab accepted 2
              > enqueue c to b
              > notify to b
              > left`;
    plays(`${given}
      1120  written left:b:a#1000000@1400
      1460  wake
              > notify to c
    `);
    plays(`${given}
      1130  written b#1125000@2125
      1460  wake
    `);
  });

  it('looks before it asks for a promise again, if it was outbid, and stands in line of whom it finds', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  bc refused 1 outbid 3
      1020  wake
              > query 2 to abc
      1030  bc found 2 b#7@1800
              > enqueue a to b
    `));

  it('looks before it gives back, too, if it was outbid, and has its line look if somebody has had it since', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1030  enqueue c
      1100  release
              > ended, released
              > read 2 to abc
      1110  bc refused 2 outbid 3
      1120  wake
              > query 3 to abc
      1130  bc found 3 b#1105000@2105
              > left
              > notify to c
    `));

  it('does not take for one that waits whom it finds to have had it since', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1030  enqueue c
      1040  enqueue b
      1100  release
              > ended, released
              > read 2 to abc
      1105  acquire 2
      1110  ac promised 2 a#1000000@2000
              > write 2 left:c:a#1000000@1400 to abc
      1120  bc refused-write 2 outbid 3
      1130  wake
              > query 3 to abc
      1140  bc found 3 c#1115000@2115
              > left
              > read 4 to abc
      1150  bc promised 4 b#1145000@2145
              > enqueue a to b
    `));

  it('gives back what a query has not found, for it may be on its way', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1015  cancel 1
              > dequeue a to abc
      1020  bc refused-write 1 outbid 3
      1030  wake
              > query 2 to abc
      1040  bc found 2
              > read 3 to abc
    `));

  it('looks at once when it is told to, and not without a pause if it is told so again and again', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1 b#7@1800
              > enqueue a to b
      1020  notify
              > read 2 to abc
      1030  ab promised 2 b#7@1800
              > enqueue a to b
      1040  notify
      1044  wake
      1046  wake
              > read 3 to abc
    `));
});

describe('a lease that is to be given back', () => {
  it('is, even if the next one here was about to have it, and has given up', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1030  acquire 2
      1100  release
              > ended, released
              > read 2 to abc
      1110  ab promised 2 a#1000000@2000
              > write 2 a#1100000@2100 to abc
      1120  bc refused-write 2 outbid 3
      1121  cancel 2
              > dequeue a to abc
      1130  wake
              > query 3 to abc
      1140  ab found 3 a#1000000@2000
              > read 4 to abc
      1150  ab promised 4 a#1000000@2000
              > write 4 free:a#1000000@2140 to abc
      1160  ab accepted 4
              > left
    `));
});

describe('a member that gives a lease back', () => {
  it('waits no longer than the lease would have lasted, though the next one here cannot have it either', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1
              > write 1 a#1000000@2000 to abc
      1020  ab accepted 1
              > granted 1 until 2000
      1030  acquire 2
      1950  release
              > ended, released
              > read 2 to abc
      1960  ab promised 2 a#1000000@2000
              > write 2 a#1950000@2950 to abc
      2051  wake
              > left
    `));
});

describe('a member that asks for the holder', () => {
  it('leaves nothing behind when it has been told', () => {
    const { remembered } = play(`
      1000  ask 1
      1010  ab found 1
      1011  ask 2 of two
    `);
    expect(remembered).toEqual(['two']);
  });

  it('does not make those look again who wait for the end of the very same', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1 b#7@1800
              > enqueue a to b
      1020  ask 2
              > query 2 to abc
      1030  ab found 2 b#7@1900
              > told 2 b#7@1900
      1851  wake
      1950  wake
      1951  wake
              > read 3 to abc
    `));

  it('makes those look at once who wait, if somebody else has it', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1 b#7@1800
              > enqueue a to b
      1020  ask 2
              > query 2 to abc
      1030  ab found 2 c#8@1900
              > told 2 c#8@1900
              > read 3 to abc
    `));

  it('does not wait for the end of what somebody has', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1010  ab promised 1 b#7@1800
              > enqueue a to b
      1020  ask 2
              > query 2 to abc
    `));

  it('waits as long as the request before it, if an attempt has failed', () =>
    plays(`
      1000  acquire 1
              > read 1 to abc
      1001  bc refused 1 recovering
      1003  wake
              > read 2 to abc
      1004  bc refused 2 recovering
      1008  wake
              > read 3 to abc
      1009  bc refused 3 recovering
      1010  ask 2
      1015  wake
      1016  wake
              > query 4 to abc
    `));

  it('waits as long as the request before it, if answers have differed', () =>
    plays(`
      1000  ask 1
              > query 1 to abc
      1010  a found 1
      1010  b found 1 b#7@1800
      1011  ask 2
      1013  wake
      1014  wake
              > query 2 to abc
    `));
});

describe('a busy member', () => {
  it('asks the members that were quick, and the others only if those are late', () =>
    plays(
      `
      1000  acquire 1
              > read 1 to abc
      1001  acquire 2 of two
              > read 2 of two to ab
      1010  a promised 1
      1011  c promised 1
              > write 1 a#1000000@2000 to abc
      1012  acquire 3 of three
              > read 3 of three to ac
      1025  wake
              > read 2 of two to c
              > read 3 of three to b
    `,
      1,
    ));
});
