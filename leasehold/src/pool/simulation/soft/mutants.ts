/**
 * Managers that keep nothing, wrong by one line each time: `npm run sim -- soft-pool --mutants`.
 */

import type { Mutant } from '../../../sim/simulation.ts';

const SETTINGS = 'pool/core/manager/settings.ts';
const LEADER = 'pool/core/manager/leader.ts';
const SOFT_LOG = 'flease/core/soft-log.ts';
const CANDIDATE = 'flease/core/candidate.ts';
const PEER_TABLE = 'flease/core/peer-table.ts';
const OPTIONS = 'flease/core/options.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'successor-waits-by-its-own-settings',
    promise: 'one-owner',
    story: 'A new leader waits as long as its own leases need; its predecessor gave longer ones.',
    file: SETTINGS,
    from: 'Math.max(settings.groupTakeoverMs ?? 0, longest(settings, takeoverHoldMs));',
    to: 'longest(settings, takeoverHoldMs);',
  },
  {
    name: 'successor-waits-for-nobody',
    promise: 'one-owner',
    story: 'A new leader does not wait at all, since it knows of no lease.',
    file: LEADER,
    from: 'const isAbove = start.floor > this.#state.position && !isFirst;',
    to: 'const isAbove = false;',
  },
  {
    name: 'longer-leases-than-agreed',
    promise: 'one-owner',
    story: 'A Manager takes settings with leases that outlast the wait of a successor.',
    file: SETTINGS,
    from: 'if (neededMs <= groupTakeoverMs) continue;',
    to: 'if (neededMs <= Number.POSITIVE_INFINITY) continue;',
  },
  {
    name: 'members-heed-another-takeover',
    promise: 'one-owner',
    story: 'A Manager with a shorter wait is elected by those that promised longer leases.',
    file: PEER_TABLE,
    from: 'packet.leaseMs === leaseMs && packet.clockSkewMs === clockSkewMs && packet.takeoverMs === takeoverMs;',
    to: 'packet.leaseMs === leaseMs && packet.clockSkewMs === clockSkewMs && takeoverMs >= 0;',
  },
  {
    name: 'longer-durations-not-waited-for',
    promise: 'one-owner',
    story:
      'Managers restarted with a smaller takeover forget the larger one, although a peer still named it.',
    file: PEER_TABLE,
    from: 'this.#longerUntilMs = Math.max(this.#longerUntilMs, nowMs + recoveryMs + takeoverMs);',
    to: '',
  },
  {
    name: 'recovery-too-short',
    promise: 'one-leader',
    story: 'Members that have forgotten whom they elected elect another at once.',
    file: OPTIONS,
    from: 'recoveryMs: leaseMs + 2 * clockSkewMs,',
    to: 'recoveryMs: 0,',
  },
  {
    name: 'leader-lease-without-end',
    promise: 'one-leader',
    story: 'A leader believes in its lease until somebody tells it otherwise.',
    file: CANDIDATE,
    from: 'return later(now, this.#member.leftMs(held) - 2 * clockSkewMs);',
    to: 'return later(now, this.#member.leftMs(held) * 1_000 - 2 * clockSkewMs);',
  },
  {
    name: 'numbers-begin-anew',
    promise: 'continuity',
    story: 'Every leader counts from the same number again.',
    file: SOFT_LOG,
    from: 'batches: [], floor: number }',
    to: 'batches: [], floor: 1 }',
  },
  {
    name: 'term-reused',
    promise: 'continuity',
    story: 'Every leader leads in the same term, and owners and look-ups cannot tell them apart.',
    file: SOFT_LOG,
    from: '      term: number,\n',
    to: '      term: 1,\n',
  },
  {
    name: 'one-history',
    promise: 'every-loss-told',
    story: 'A look-up takes the table of a new leader for what became of the old one, and reports no loss.',
    file: SOFT_LOG,
    from: 'history: `soft-$',
    to: 'history: `soft`, was: `$',
  },
];
