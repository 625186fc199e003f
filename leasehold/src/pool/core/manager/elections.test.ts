import { describe, expect, it } from 'vitest';
import { playManager } from './manager-script.ts';
import { LOG, ONE_OWNER } from './openings-script.ts';

// In these scripts a hold lasts 9750 ms. `manager-script.ts` says how they are read.
function plays(script: string): void {
  const { went, written } = playManager(script);
  expect(went).toBe(written);
}

describe('somebody who has seen more of the log than there is', () => {
  it('makes a leader of the same term halt, for good: the store went back in time', () =>
    plays(`${ONE_OWNER}
      40    report b 1? seen=1.3
              > halt: a client has seen position 3 of this log, which ends at 2: the store went back in time
              > resign
      50    report a 3? 0-16#2
      60    sync l 1
      70    certificate secret
      80    elected 2 2000000
              > resign
    `));

  it('is believed if it is a look-up', () =>
    plays(`${ONE_OWNER}
      40    sync l 1 seen=1.3
              > halt: a client has seen position 3 of this log, which ends at 2: the store went back in time
              > resign
    `));

  it('may have seen what is just being written, from a standby that was quicker', () =>
    plays(`${ONE_OWNER}
      40    report b 0?
              > b: update ack=0 candidate
      40    report b 1? heard
              > append 3 term 1 join:b
      50    sync l 1 seen=1.3
    `));

  it('makes a leader of an earlier term resign: it was deposed and did not know', () =>
    plays(`${ONE_OWNER}
      40    report b 1? seen=2.3
              > resign
      50    report a 3? 0-16#2
    `));

  it('is remembered until the election, and then makes the winner halt', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1 seen=1.9
              > ask-head
      20    elected 2 2000000
              > halt: elected for term 2 at position 1, but a client has seen term 1 and position 9: the store went back in time
              > resign
    `));

  it('makes the winner halt also if it was not the log but the term that went back', () =>
    plays(`${LOG}
      0     reset
      10    report a 7? seen=2.1
      15    standing
      20    elected 2 2000000
              > halt: elected for term 2 at position 1, but a client has seen term 2 and position 1: the store went back in time
              > resign
    `));

  it('may have seen it while we stood for election: then another was elected after us, and we resign', () =>
    plays(`${LOG}
      0     reset
      5     standing
      10    report a 7? seen=2.1
      20    elected 2 2000000
              > resign
      30    report a 8? seen=2.1
      40    standing
      50    elected 3 2000000
              > append 2 term 3
    `));

  it('may have seen more by then, too: what a later term has written', () =>
    plays(`${LOG}
      0     reset
      5     standing
      10    report a 7? seen=3.9
      20    elected 2 2000000
              > resign
    `));

  it('makes the winner halt if it saw that in an earlier term, whenever it told us', () =>
    plays(`${LOG}
      0     reset
      5     standing
      10    report a 7? seen=1.9
              > a: notLeader 1 m9:7400
      20    elected 2 2000000
              > halt: elected for term 2 at position 1, but a client has seen term 1 and position 9: the store went back in time
              > resign
    `));

  it('can be the winner itself, from when it followed the log', () =>
    plays(`
      0     log 1 1
      0     log 2 3
      0     reset
      10    standing
      20    elected 2 2000000
              > halt: elected for term 2 at position 2, but a client has seen term 3 and position 2: the store went back in time
              > resign
    `));

  it('is of no concern in an election either if it speaks of another history', () =>
    plays(`${LOG}
      0     reset
      10    report a 7? seen=7.99 history=old
              > a: notLeader 1 m9:7400
      15    standing
      20    elected 2 2000000
              > append 2 term 2
    `));

  it('is of no concern if it speaks of another history', () =>
    plays(`${ONE_OWNER}
      40    sync l 1 seen=7.99 history=old
              > l: changes 1 0..2 answers=1 0-16:a#2
    `));
});

describe('a claim that no Manager has stamped', () => {
  it('halts no leader, however far the position', () =>
    plays(`${ONE_OWNER}
      40    sync l 1 seen=1.2251799813685248 forged
      50    report b 1? seen=1.2251799813685248 forged
              > b: update ack=1 candidate
      60    report a 3? 0-16#2
              > a: update ack=3 0-16#2
    `));

  it('does not make a leader resign, however late the term', () =>
    plays(`${ONE_OWNER}
      40    report b 1? seen=9.2 forged
              > b: update ack=1 candidate
      50    report a 3? 0-16#2
              > a: update ack=3 0-16#2
    `));

  it('is forgotten before the next election', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1 seen=1.9 forged
              > ask-head
      15    report a 7? seen=9.1 forged
      20    elected 2 2000000
              > append 2 term 2
    `));
});

describe('a leader that is one no longer', () => {
  it('answers nobody until it has followed the log', () =>
    plays(`${ONE_OWNER}
      40    deposed
      50    report a 3? 0-16#2
      60    sync l 1
              > ask-head
      70    head 2 60
      80    reset
              > l: changes 1 0..2 answers=1 0-16:a#2
    `));

  it('resigns when its machine was suspended: its leader lease may have run out unseen', () =>
    plays(`${ONE_OWNER}
      40    suspended
              > resign
      50    report a 3? 0-16#2
      60    suspended
              > resign
    `));

  it('does not resign once it has halted: it stands for nothing', () =>
    plays(`${ONE_OWNER}
      40    report b 1? seen=1.3
              > halt: a client has seen position 3 of this log, which ends at 2: the store went back in time
              > resign
      50    suspended
    `));

  it('forgets what it was writing: the log knows', () =>
    plays(`${ONE_OWNER}
      40    report b 0?
              > b: update ack=0 candidate
      40    report b 1? heard
              > append 3 term 1 join:b
      50    deposed
      60    elected 3 2000000
              > append 3 term 3
    `));
});
