/**
 * Schedules too rare for chance. Each holds by the rules, and breaks the promise of the mutant that it is named for.
 */

import type { ReaderMap } from '../core/configuration.ts';
import { LEASE_MS, Script } from './script.ts';
import { SLOW_REPAIRS } from './slow-repair.ts';

const ALL: ReaderMap = { mode: 'all' };

/** Replica 1, or another, asks replica 0, is promised, and may then read by the two of them. */
function leaseOf(script: Script, holder = 1): void {
  script.ask(holder);
  script.pass('ask', holder, 0);
  script.sync(0);
  script.pass('promise', 0, holder);
}

/** A cell in which replica 1 reads an old value of `a`, because a new one is chosen and it has not accepted that. */
function pendingWrite(holders: readonly number[]): Script {
  const script = new Script(3, ALL);
  script.write(0, 'a');
  script.settle(0, [1, 2]);
  for (const holder of holders) leaseOf(script, holder);
  script.write(0, 'a');
  script.settle(0, [2]);
  return script;
}

/** A cell in which every disk says what is chosen. */
function sealed(): Script {
  const script = new Script(3, ALL);
  script.at(100);
  for (const at of [0, 1, 2]) {
    script.ask(at);
    script.sync(at);
  }
  script.flying = [];
  return script;
}

/** Replicas 0 and 1 have committed a write of `a`. Then power fails, and replica 1 goes on from a copy that is older than the write. */
function forgottenWrite(): Script {
  const script = sealed();
  const copy = script.copy(1);
  script.write(0, 'a');
  script.acceptedBy(0, [1]);
  script.flying = [];
  script.restart(0);
  script.restore(1, copy);
  script.at(110); // Questions are due again.
  return script;
}

export const SCENARIOS: Readonly<Record<string, () => void>> = {
  'the answer to a question of an earlier life reaches a later one that has asked again': () => {
    const script = new Script(3, ALL);
    script.ask(1);
    script.pass('ask', 1, 0);
    script.sync(0);
    script.at(0.9 * LEASE_MS);
    script.restart(1);
    script.settle(0, [1]);
    script.ask(1);
    script.pass('promise', 0, 1);
    script.at(1.5 * LEASE_MS);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.read(1, ['a']);
  },

  'the holder has the slowest clock and the grantor the fastest': () => {
    const script = new Script(3, ALL);
    for (const [at, rate] of [1.1, 0.9].entries()) Object.assign(script.nodes[at] ?? {}, { rate });
    leaseOf(script);
    script.at(1_000);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.at(1_105);
    script.read(1, ['a']);
  },

  'a release arrives after what was asked later': () => {
    const script = new Script(3, ALL);
    leaseOf(script);
    script.release(1);
    script.at(LEASE_MS + 1); // A replica that released does not ask for a lease time.
    leaseOf(script);
    script.pass('release', 1, 0);
    script.at(LEASE_MS + 100);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.read(1, ['a']);
  },

  'an older question arrives late, and then the release that was said after that': () => {
    const script = new Script(3, ALL);
    script.ask(1);
    const [older] = script.flying.filter(({ message, to }) => message.kind === 'ask' && to === 0);
    script.flying = [];
    script.release(1);
    const releases = script.flying.filter(({ message, to }) => message.kind === 'release' && to === 0);
    script.flying = [];
    script.at(LEASE_MS + 1); // A replica that released does not ask for a lease time.
    leaseOf(script);
    for (const { message } of [...(older === undefined ? [] : [older]), ...releases])
      script.deliver(1, 0, message);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.read(1, ['a']);
  },

  'a promise is under way while the holder lets go': () => {
    const script = new Script(3, ALL);
    script.ask(1);
    script.pass('ask', 1, 0);
    script.sync(0);
    script.release(1);
    script.pass('release', 1, 0);
    script.pass('promise', 0, 1);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.read(1, ['a']);
  },

  'a replica accepts behind an entry of another leader': () => {
    const script = new Script(3, ALL);
    script.write(0, 'a');
    script.pass('accept', 0, 1);
    script.sync(1);
    script.flying = [];
    script.restart(0);
    script.lead(2, [0]);
    script.pass('accept', 2, 0);
    script.sync(0);
    script.flying = [];
    script.restart(2);
    script.lead(0, [2]);
    script.write(0, 'b');
    script.sync(0);
    const { acceptor, log } = (script.nodes[0] as NonNullable<(typeof script.nodes)[0]>).replica.view;
    const { ballot } = acceptor;
    const first = log.last - 1;
    const operations = log.slice(first, log.last).map(({ operation }) => operation);
    script.deliver(0, 1, {
      ...{ kind: 'accept', ballot, merged: first - 1, first, operations },
      ...{ chosen: log.chosen, committed: log.committed },
    });
    script.sync(1);
    script.pass('accepted', 1, 0);
    script.restart(2);
    script.lead(2, [1]);
    script.settle(2, [1]);
  },

  'a sync that began under one leader ends under the next': () => {
    const script = new Script(3, ALL);
    script.write(0, 'a');
    script.pass('accept', 0, 1); // Its sync has begun.
    script.restart(0);
    script.lead(2, [0]);
    script.sync(2);
    const sending = script.flying.filter(({ message, to }) => message.kind === 'accept' && to === 1);
    script.flying = script.flying.filter((each) => !sending.includes(each));
    for (const { from, message } of sending) script.deliver(from, 1, message);
    script.syncOnce(1);
    script.pass('accepted', 1, 2);
    script.restart(1);
    script.lead(0, [1]);
    script.settle(0, [1]);
  },

  'a grantor had accepted a write before it promised, and the holder has not': () => {
    const script = new Script(3, ALL);
    script.write(0, 'a');
    script.settle(0, [2]);
    leaseOf(script);
    script.read(1, ['a']);
  },

  'a lease lapses and forms again, and a write was committed in between': () => {
    const script = new Script(3, ALL);
    leaseOf(script);
    script.at(2 * LEASE_MS);
    script.write(0, 'a');
    script.settle(0, [2]);
    leaseOf(script);
    script.read(1, ['a']);
  },

  'a grantor between two leaders has accepted a write only of the first': () => {
    const script = new Script(3, ALL);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.restart(2);
    script.at(2 * LEASE_MS);
    script.ask(1);
    script.pass('ask', 1, 2);
    script.sync(2);
    script.pass('promise', 2, 1);
    script.read(1, ['a']);
  },

  'a grantor restarts while its promise holds': () => {
    const script = new Script(3, ALL);
    leaseOf(script);
    script.at(100);
    script.restart(0);
    script.at(0.7 * LEASE_MS);
    script.lead(0, [2]);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.read(1, ['a']);
  },

  'a holder counts from its question, not from the answer': () => {
    const script = new Script(3, ALL);
    script.ask(1);
    script.pass('ask', 1, 0);
    script.sync(0);
    script.at(0.9 * LEASE_MS);
    script.pass('promise', 0, 1);
    script.at(1.5 * LEASE_MS);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.read(1, ['a']);
  },

  'a holder that released its leases does not read': () => {
    const script = new Script(3, ALL);
    leaseOf(script);
    script.release(1);
    script.pass('release', 1, 0);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.read(1, ['a']);
  },

  'a machine was suspended for longer than its lease': () => {
    const script = new Script(3, ALL);
    leaseOf(script);
    script.at(2 * LEASE_MS);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.rewind(1, 1.5 * LEASE_MS);
    script.suspended(1);
    script.read(1, ['a']);
  },

  'a member that does not know of the new holders has promised nobody and reads as before': () => {
    const script = new Script(3, ALL);
    leaseOf(script);
    script.reconfigure(0, { kind: 'placement', placement: { mode: 'leader' } });
    script.settle(0, [2]);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.read(1, ['a']);
  },

  'a configuration that was never chosen makes nobody a holder': () => {
    const script = new Script(3, { mode: 'leader' });
    script.reconfigure(0, { kind: 'placement', placement: ALL });
    script.pass('accept', 0, 1);
    script.sync(1);
    script.flying = [];
    script.restart(0); // Its disk had not synced the configuration; only 1 has it.
    leaseOf(script);
    script.lead(2, [0]);
    script.write(2, 'a');
    script.settle(2, [0]);
    script.read(1, ['a']);
  },

  'a holder has accepted a configuration that takes its keys, and does not know that it is committed': () => {
    const script = new Script(3, ALL);
    leaseOf(script);
    script.reconfigure(0, { kind: 'placement', placement: { mode: 'leader' } });
    script.acceptedBy(0, [1, 2]);
    script.write(0, 'a');
    script.acceptedBy(0, [2]);
    script.read(1, ['a']);
  },

  'a member acknowledges what its disk then loses': () => {
    const script = new Script(3, ALL);
    script.write(0, 'a');
    script.pass('accept', 0, 1);
    script.pass('accepted', 1, 0); // Not synced: nothing may have been said.
    script.sync(0);
    script.restart(1);
    script.lead(2, [1]);
    script.settle(2, [1]);
  },

  'a member forgets in a restart what it has promised to a candidate': () => {
    const script = new Script(3, ALL);
    script.deliver(2, 2, { kind: 'lead-now', ballot: script.ballot(2) });
    script.sync(2);
    script.pass('prepare', 2, 1);
    script.sync(1);
    script.restart(1);
    script.write(0, 'a');
    script.settle(0, [1]);
    script.pass('prepared', 1, 2);
    script.settle(2, [1]);
  },

  'a member tells a candidate of a promise that its disk then loses': () => {
    const script = new Script(3, ALL);
    script.deliver(2, 2, { kind: 'lead-now', ballot: script.ballot(2) });
    script.sync(2);
    script.pass('prepare', 2, 1);
    const isSaid = script.flying.some(({ message }) => message.kind === 'prepared');
    script.restart(1);
    script.write(0, 'a');
    script.settle(0, [1]);
    if (isSaid) script.pass('prepared', 1, 2);
    script.settle(2, [1]);
  },

  'a slot has values of two leaders, and a third takes that of the later one': () => {
    const script = new Script(3, ALL);
    script.write(0, 'a');
    script.pass('accept', 0, 1);
    script.sync(1);
    script.flying = [];
    script.restart(0); // Slot 3 is a write at replica 1 alone.
    script.lead(2, [0]);
    script.acceptedBy(2, [0]); // Slot 3 is a configuration at 0 and 2: chosen, as 2 knows.
    script.restart(2);
    script.lead(1, [0]); // Refused: its ballot is lower than that of 2.
    script.pass('refused', 0, 1);
    script.lead(1, [0]);
    script.settle(1, [0]);
  },

  'a replica that enters a ballot keeps what a third leader must see': () => {
    const script = new Script(3, ALL);
    script.write(0, 'a');
    script.acceptedBy(0, [1]); // Slot 3 is chosen, by 0 and 1, as 0 knows.
    script.lead(2, [1]);
    script.pass('accept', 2, 1, 0); // A heartbeat of the new leader, without entries.
    script.sync(1);
    script.restart(2);
    script.restart(0);
    script.lead(2, [1]);
    script.settle(2, [1]);
  },

  'a replica that restarts keeps what it has accepted in the same ballot': () => {
    const script = new Script(3, ALL);
    script.write(0, 'a');
    script.acceptedBy(0, [1]);
    script.restart(1);
    script.beat(0, 1);
    script.lead(2, [1]);
    script.settle(2, [1]);
  },

  'a member promises no ballot below the one that it has promised': () => {
    const script = new Script(3, ALL);
    script.deliver(1, 1, { kind: 'lead-now', ballot: script.ballot(1) });
    script.sync(1);
    script.deliver(2, 2, { kind: 'lead-now', ballot: script.ballot(2) });
    script.sync(2);
    script.pass('prepare', 2, 0); // The higher ballot, of replica 2.
    script.sync(0);
    script.pass('prepared', 0, 2);
    script.pass('prepare', 1, 0); // The lower one, of replica 1.
    script.sync(0);
    script.pass('prepared', 0, 1);
    script.acceptedBy(1, [0]);
    script.acceptedBy(2, [0]);
  },

  'a grantor restarts before the length of its promise is durable': () => {
    const script = new Script(3, ALL);
    script.ask(1);
    script.pass('ask', 1, 0);
    script.pass('promise', 0, 1); // Not synced: nothing may have been promised.
    script.restart(0);
    script.lead(0, [2]);
    script.write(0, 'a');
    script.settle(0, [2]);
    script.read(1, ['a']);
  },

  'a write is chosen, and a holder that has not accepted it still reads the value before': () => {
    const script = pendingWrite([1]);
    script.read(1, ['a']);
  },

  'a majority has a write that is not committed, and is asked without clocks': () => {
    const script = pendingWrite([1]);
    script.read(2, ['a'], 'quorum');
    script.pass('query', 2, 0);
    script.pass('queried', 0, 2);
    script.read(1, ['a']);
  },

  'a copy has forgotten a write, and is asked by a candidate that does not have it': () => {
    const script = forgottenWrite();
    script.lead(2, [1]);
    if (script.nodes[2]?.isLeader) script.settle(2, [1]);
  },

  'a copy has heard of a new leader, and not yet what that leader knows': () => {
    const script = forgottenWrite();
    script.lead(0, [2]);
    script.pass('accept', 0, 1, 0); // A heartbeat, without entries.
    script.sync(1);
    script.flying = [];
    script.restart(0);
    script.lead(2, [1]);
    if (script.nodes[2]?.isLeader) script.settle(2, [1]);
  },

  'a copy follows the leader of before, who has not synced what the copy has forgotten': () => {
    const script = new Script(3, ALL);
    const copy = script.copy(2);
    script.write(0, 'a'); // Replica 0 syncs nothing from here on.
    for (const follower of [1, 2]) {
      script.pass('accept', 0, follower);
      script.sync(follower);
    }
    script.pass('accepted', 2, 1); // Replica 1 knows that the write is chosen, by 1 and 2.
    script.flying = [];
    script.restart(1);
    script.restore(2, copy);
    const ballot = script.ballot(0);
    const heartbeat = { first: 3, operations: [], chosen: 2, committed: 2 } as const;
    script.deliver(0, 2, { kind: 'accept', ballot, merged: 0, ...heartbeat });
    script.sync(2);
    script.flying = [];
    script.restart(0);
    script.lead(0, [2]);
    if (script.nodes[0]?.isLeader) script.settle(0, [2]);
  },

  'a copy has forgotten what it promised to the present leader, and hears the one before': () => {
    const script = sealed();
    const copy = script.copy(1);
    script.lead(2, [1]);
    script.sync(2);
    script.flying = script.flying.filter(({ from }) => from === 2);
    script.restore(1, copy);
    script.write(0, 'a');
    script.acceptedBy(0, [1]);
    script.acceptedBy(2, [1]);
  },

  'a copy has forgotten whom it promised, and votes': () => {
    const script = new Script(3, ALL);
    const copy = script.copy(1);
    script.ask(2);
    script.pass('ask', 2, 1);
    script.sync(1);
    script.pass('promise', 1, 2);
    script.restore(1, copy);
    script.write(0, 'a');
    script.settle(0, [1]);
    script.read(2, ['a']);
  },

  'a copy has forgotten a write, and is asked for a promise by a replica that does not have it': () => {
    const script = forgottenWrite();
    script.ask(2);
    script.pass('ask', 2, 1);
    script.sync(1);
    script.pass('promise', 1, 2);
    script.read(2, ['a']);
  },

  'a copy has forgotten a write, and is asked without clocks by a replica that does not have it': () => {
    const script = forgottenWrite();
    script.read(2, ['a'], 'quorum');
    script.pass('query', 2, 1);
    script.pass('queried', 1, 2);
  },

  'a copy has forgotten a write, and is promised a lease by a replica that does not have it': () => {
    const script = forgottenWrite();
    script.ask(1);
    script.pass('ask', 1, 2);
    script.sync(2);
    script.pass('promise', 2, 1);
    script.read(1, ['a']);
  },

  'a copy has forgotten a write, and asks without clocks a replica that does not have it': () => {
    const script = forgottenWrite();
    script.read(1, ['a'], 'quorum');
    script.pass('query', 1, 2);
    script.pass('queried', 2, 1);
  },

  'one holder has a write that is not committed, and another has not accepted it': () => {
    const script = pendingWrite([1, 2]);
    script.read(2, ['a']);
    script.read(1, ['a']);
  },

  ...SLOW_REPAIRS,
};
