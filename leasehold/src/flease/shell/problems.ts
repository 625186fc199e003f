/**
 * What stands in the way of a member, as `status().problems` says it: since when, and how to mend it.
 *
 * A problem counts from the first look that found it, and of a silent peer from when the peer was last heard. So a member
 * that is never asked for its status keeps nothing of this.
 *
 * A member that was only just started has no problem: `waitsFor` says for how long it recovers.
 */

import { unreachable } from '../../runtime/assert.ts';
import type { Problem } from '../../runtime/handle.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';
import type { RecoveryReason } from '../core/wording.ts';
import type { PeerTrouble } from '../core/peer-table.ts';
import type { FleaseStatus, PeerStatus } from './status.ts';

type Found = Omit<Problem, 'sinceMs'> & { readonly atLeastMs?: number | undefined };

/** What the problems of a member follow from. */
export type ProblemFacts = Pick<FleaseStatus, 'name' | 'closed' | 'recovery' | 'peers'> & {
  /** Why no majority is heard, if a lease or a request needs one. */
  readonly noMajority: string | undefined;
};

const SAME_PEERS =
  'start the member that is wrong with the same peers, peersVersion and peersBefore as the others';

export class Problems {
  readonly #clock: Pick<Runtime, 'now'>;
  readonly #since = new Map<string, Instant>();

  constructor(clock: Pick<Runtime, 'now'>) {
    this.#clock = clock;
  }

  of(facts: ProblemFacts): readonly Problem[] {
    const now = this.#clock.now();
    const found = problemsFound(facts);
    for (const id of this.#since.keys()) if (!found.some((one) => one.id === id)) this.#since.delete(id);
    return found.map(({ atLeastMs = 0, ...problem }) => {
      const since = this.#since.get(problem.id) ?? now;
      this.#since.set(problem.id, since);
      return { ...problem, sinceMs: Math.round(Math.max(atLeastMs, now - since)) };
    });
  }
}

function problemsFound({ name, closed, recovery, peers, noMajority }: ProblemFacts): readonly Found[] {
  if (closed?.code === 'CLOSED') return [];
  if (closed !== undefined) {
    const cure = 'close this member; to come back, join in a later version of the peers';
    return [{ id: 'cell', level: 'failing', what: `it ${closed.words}`, cure }];
  }
  const own: Found[] = [];
  if (recovery !== undefined && recovery.why !== 'began') {
    own.push({ id: 'cell', level: 'failing', what: `it ${recovery.words}`, cure: cureOf(recovery.why) });
  }
  if (noMajority !== undefined) {
    const cure = 'start the missing members, or mend the network between them and this one';
    own.push({ id: 'majority', level: 'failing', what: noMajority, cure });
  }
  return [...own, ...peers.flatMap((peer) => problemWith(peer, name))];
}

function problemWith({ name, problem, trouble, connected, heardAgoMs }: PeerStatus, own: string): Found[] {
  const id = `peer-${name}`;
  if (trouble !== undefined) {
    const what = `member ${name}: ${trouble.words}`;
    return [{ id, level: 'warning', what, cure: cureOfPeer(trouble.why, name) }];
  }
  if (problem === undefined) return [];
  const cure = connected
    ? `find out whether another process runs as ${own}, or the network carries packets in one direction only`
    : `start member ${name}, or mend the network or its address in peers`;
  return [{ id, level: 'warning', what: `member ${name}: ${problem}`, cure, atLeastMs: heardAgoMs }];
}

function cureOf(why: Exclude<RecoveryReason, 'began'>): string {
  switch (why) {
    case 'clock-jumped':
      return 'nothing now, it takes part again by itself; let a time daemon turn the clock slowly instead of setting it';
    case 'clock-outlier':
      return 'mend the clock of this machine: see its time daemon';
    case 'other-members':
    case 'earlier-view':
      return SAME_PEERS;
    default:
      return unreachable(why);
  }
}

function cureOfPeer(why: PeerTrouble['why'], name: string): string {
  switch (why) {
    case 'other-group':
      return `mend the address of ${name} in peers, or the cell of the member there`;
    case 'not-a-member':
      return `nothing while the peers change; otherwise stop ${name}, or add it to the peers at every member`;
    case 'same-name':
      return `stop one of the two processes that run as ${name}`;
    case 'other-durations':
      return `restart the member that is wrong with the same leaseMs and clockSkewMs as the others`;
    case 'other-members':
    case 'earlier-view':
      return SAME_PEERS;
    case 'later-view':
      return 'move this member to that version of the peers as well (changePeers), or end it if it is to leave';
    case 'clock-off':
      return `mend the clock of this machine or of ${name}: see the time daemons`;
    default:
      return unreachable(why);
  }
}
