import { describe, expect, it } from 'vitest';
import type { LogStart } from '../../../log/log.ts';
import { instant } from '../../../runtime/time.ts';
import { resolveDurations } from '../options.ts';
import { encodeBatch } from '../state.ts';
import { evenShares, playManager } from './manager-script.ts';
import { LOG } from './openings-script.ts';
import type { ManagerSettings } from './settings.ts';
import { RollbackDetector } from './rollback-detector.ts';
import { Standby } from './standby.ts';

// In these scripts a hold lasts 9750 ms. `manager-script.ts` says how they are read.
function plays(script: string): void {
  const { went, written } = playManager(script);
  expect(went).toBe(written);
}

describe('a standby', () => {
  it('answers a sync when it has read the head of the log after the sync came', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1
              > ask-head
      20    head 1 10
              > l: changes 1 0..1 answers=1 0-16:a#1
    `));

  it('answers only when it has followed up to there', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1 seen=1.1
              > ask-head
      20    head 3 10
      30    followed 2 1 renumber:0-16
              > l: changes 1 1..2 0-16:a#2
      40    followed 3 1 free:0-4
              > l: changes 1 2..3 0-4:-#2~3
              > l: changes 1 1..3 answers=1 0-4:-#2~3 4-16:a#2
    `));

  it('does not call fresh what it read before the sync came, but reads again for all who wait', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1
              > ask-head
      15    sync k 1
      16    sync j 1
      20    head 1 10
              > l: changes 1 0..1 answers=1 0-16:a#1
              > ask-head
      30    head 1 20
              > k: changes 1 0..1 answers=1 0-16:a#1
              > j: changes 1 0..1 answers=1 0-16:a#1
    `));

  it('answers the first of two syncs of one look-up: the latest, and a log slower than it asks would starve it', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1
              > ask-head
      510   sync l 2
      520   head 1 10
              > l: changes 1 0..1 answers=1 0-16:a#1
      530   head 1 520
      1010  sync l 3
              > ask-head
    `));

  it('answers the later of two lives of a look-up: the first can have no use for it', () =>
    plays(`${LOG}
      0     reset
      10    sync l 7 id=l.1
              > ask-head
      12    sync l 1 id=l.2
      20    head 1 10
              > ask-head
      30    head 1 20
              > l: changes 1 0..1 answers=1 id=l.2 0-16:a#1
    `));

  it('asks anew when it follows the log anew: what it asked before is answered by nobody', () =>
    plays(`
      0     log 1 1
      0     reset
      10    sync l 1
              > ask-head
      20    standing
      30    sync l 2
              > ask-head
    `));

  it('does not answer one that knows more than it does', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1 seen=1.7
              > ask-head
      20    head 1 10
    `));

  it('does not answer before it knows the log at all', () =>
    plays(`${LOG}
      10    sync l 1
              > ask-head
      20    head 1 10
      30    reset
              > l: changes 1 0..1 answers=1 0-16:a#1
    `));

  it('never answers owners or supervisors, but tells owners who leads', () =>
    plays(`${LOG}
      0     reset
      10    report a 2? 0-16#1
              > a: notLeader 1 m9:7400
      20    certificate secret
      30    wake
    `));

  it('tells nobody who leads if it has read nothing yet, or the owner has seen a later leader', () =>
    plays(`${LOG}
      0     report a 2? 0-16#1
      10    reset
      20    report a 3? 0-16#1 seen=2.5
      30    report a 4? 0-16#1 seen=1.5
              > a: notLeader 1 m9:7400
    `));

  it('does not take itself for the leader it was', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      1     appended
      2     deposed
      3     reset
      4     report a 2? 0-16#1
    `));

  it('takes no notice of a batch that it has already', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1
              > ask-head
      20    head 1 10
              > l: changes 1 0..1 answers=1 0-16:a#1
      30    followed 1 1 free:0-16
      40    followed 2 2
    `));

  it('stops pushing to a look-up that has not synced for four intervals', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1
              > ask-head
      20    head 1 10
              > l: changes 1 0..1 answers=1 0-16:a#1
      40010 followed 2 1 renumber:0-16
              > l: changes 1 1..2 0-16:a#2
      40011 followed 3 1 renumber:0-16
    `));

  it('resigns when its machine was suspended: the leadership it stands for may have been given, and run out, unseen', () =>
    plays(`${LOG}
      0     reset
      10    suspended
              > resign
      20    sync l 1
              > ask-head
      30    head 1 20
              > l: changes 1 0..1 answers=1 0-16:a#1
    `));
});

describe('a standby whose log goes back', () => {
  it('halts when what it is reset to ends before what it has followed', () =>
    plays(`${LOG}
      0     reset
      10    followed 2 1
      20    reset
              > halt: the log ends at 1, but we have followed it to 2: the store went back in time
              > resign
    `));

  it('halts when the head lies below where it was when it asked', () =>
    plays(`${LOG}
      0     reset
      10    followed 2 1
      20    sync l 1
              > ask-head
      30    head 1 20
              > halt: the log ends at 1, but we have followed it to 2: the store went back in time
              > resign
    `));

  it('is not what it is when it has followed further since it asked', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1 seen=1.1
              > ask-head
      20    followed 2 1
      30    head 1 10
              > l: changes 1 1..2 answers=1
    `));

  it('is not what it is when it has come to another history since it asked', () => {
    const settings: ManagerSettings = {
      ...{ id: 'm1', durations: resolveDurations(), policy: evenShares },
      ...{ pools: new Map(), declaredOnly: false, maxSpansPerBatch: 100, compactEveryBatches: 100 },
    };
    const startAt = (history: string, position: number): LogStart => {
      const batch = { term: 1, leader: 'm9', takeoverMs: 0, address: 'm9:7400', pools: [] };
      const batches = [{ position, bytes: encodeBatch(batch) }];
      return { history, snapshot: undefined, batches, floor: 0 };
    };
    const standby = new Standby(() => settings, new RollbackDetector());
    standby.reset(startAt('before', 9));
    expect(standby.lookAtHead()).toEqual([{ do: 'ask-head' }]);
    expect(standby.reset(startAt('after', 2))).toEqual([]);
    expect(standby.lookAtHead(), 'it is still asking').toEqual([]);
    expect(standby.head(2, instant(0))).toEqual([]);
    expect(standby.headSeen).toEqual({ position: 2, askedAt: 0 });
  });
});
