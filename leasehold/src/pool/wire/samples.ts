/**
 * One message of every kind, with every optional field present and at least two items in every list.
 * Tests begin from these, and `docs/protocol.md` prints them as bytes.
 */

import { RING_SIZE } from '../../runtime/keys/position.ts';
import type {
  Certificate,
  Certified,
  Changes,
  NotLeader,
  FromManager,
  Probe,
  Prove,
  Report,
  Role,
  Sync,
  ToGate,
  Update,
  Refused,
} from '../core/messages.ts';

const QUARTER: bigint = RING_SIZE / 4n;
const STAMP = '00112233445566778899aabbccddeeff';

export const report: Report = {
  kind: 'report',
  pool: 'presence',
  incarnation: 'a.1',
  name: 'a',
  url: 'http://a',
  proof: 'digest',
  sequence: 300,
  wantsAnswer: true,
  heard: { term: 2, sequence: 3 },
  seen: { history: 'h', term: 2, position: 70_000, stamp: STAMP },
  held: [
    { start: 0n, end: QUARTER, number: 7 },
    { start: 2n * QUARTER, end: 3n * QUARTER, number: 300 },
  ],
  letGo: [
    { start: QUARTER, end: QUARTER + 1n, number: 7, how: 'released' },
    { start: 3n * QUARTER, end: RING_SIZE, number: 9, how: 'lapsed' },
  ],
  leaving: false,
  load: 0.5,
  transfer: {
    address: 'a:7500',
    names: [
      { name: 'rooms', version: 2, reads: [1] },
      { name: 'users', version: 1, reads: [] },
    ],
  },
  intent: 'draining',
  moving: [
    { start: 0n, end: QUARTER, number: 7, ticket: 'c4.2.1', to: 'b.1', bytes: 70_000 },
    { start: 2n * QUARTER, end: 3n * QUARTER, number: 300, ticket: 'c4.2.2', to: 'c.1', bytes: 0 },
  ],
  receiving: [
    { start: QUARTER, end: 2n * QUARTER, number: 8, ticket: 'c4.2.3', from: 'b.1', digest: '2-70-1a' },
    { start: 3n * QUARTER, end: RING_SIZE, number: 9, ticket: 'c4.2.4', from: 'b.1', digest: undefined },
  ],
  handed: [
    {
      start: 3n * QUARTER,
      end: RING_SIZE,
      number: 11,
      ticket: 'c4.2.5',
      to: 'b.1',
      digest: '0-0-0',
      bytes: 0,
    },
    {
      start: QUARTER,
      end: QUARTER + 16n,
      number: 12,
      ticket: 'c4.2.6',
      to: 'b.1',
      digest: '1-9-ff',
      bytes: 9,
    },
  ],
};

export const sync: Sync = {
  kind: 'sync',
  pool: 'presence',
  lookup: 'l.1',
  sequence: 1,
  seen: { history: 'h', term: 2, position: 70_000, stamp: STAMP },
};

export const prove: Prove = {
  kind: 'prove',
  pool: 'presence',
  incarnation: 'a.1',
  key: STAMP.repeat(2),
  signature: STAMP.repeat(4),
};

export const certificate: Certificate = { kind: 'certificate', secret: 'hush' };

export const update: Update = {
  kind: 'update',
  pool: 'presence',
  incarnation: 'a.1',
  history: 'h',
  term: 2,
  sequence: 4,
  position: 70_000,
  stamp: STAMP,
  acknowledges: 300,
  leaseMs: 9_000,
  pace: { renewEveryMs: 1_500, retryMs: 500, revokeTimeoutMs: 3_000, suspensionToleranceMs: 75 },
  admitted: true,
  spans: [
    { start: 0n, end: QUARTER, number: 7, recalled: false, continues: [] },
    {
      start: 2n * QUARTER,
      end: 3n * QUARTER,
      number: 310,
      recalled: true,
      continues: [
        { start: 2n * QUARTER, end: 2n * QUARTER + 16n, number: 300 },
        { start: 2n * QUARTER + 16n, end: 3n * QUARTER, number: 8 },
      ],
    },
  ],
  moves: [
    { start: 0n, end: QUARTER, number: 7, ticket: 'c4.2.1', to: 'b.1', toName: 'b', address: 'b:7500' },
    {
      start: 2n * QUARTER,
      end: 3n * QUARTER,
      number: 310,
      ticket: 'c4.2.2',
      to: 'c.1',
      toName: 'c',
      address: 'c:7500',
    },
  ],
  incoming: [
    { start: QUARTER, end: 2n * QUARTER, number: 8, ticket: 'c4.2.3', from: 'b.1', fromName: 'b' },
    { start: 3n * QUARTER, end: RING_SIZE, number: 9, ticket: 'c4.2.4', from: 'b.1', fromName: 'b' },
  ],
  arrived: [
    { start: 0n, end: QUARTER, number: 7, ticket: 'c4.2.7' },
    { start: 2n * QUARTER, end: 3n * QUARTER, number: 310, ticket: 'c4.2.8' },
  ],
  asked: 'draining',
  targets: 2,
};

const a = { incarnation: 'a.1', name: 'a', url: 'http://a' };
const b = { incarnation: 'b.1', name: 'b', url: 'http://b' };

export const changes: Changes = {
  kind: 'changes',
  pool: 'presence',
  history: 'h',
  term: 2,
  from: 69_990,
  to: 70_000,
  stamp: STAMP,
  rows: [
    { start: 0n, end: QUARTER, owner: a, number: 7, lostAt: 5 },
    { start: QUARTER, end: 2n * QUARTER, owner: undefined, number: 0, lostAt: 0 },
    { start: 3n * QUARTER, end: RING_SIZE, owner: b, number: 69_995, lostAt: 69_994 },
  ],
  answers: { lookup: 'l.1', sequence: 1 },
  pace: { syncEveryMs: 10_000, staleAfterMs: 30_000, retryMs: 500 },
};

/** All rows, so that they lie end to end; and sent unasked. */
export const snapshot: Changes = {
  ...changes,
  from: 0,
  rows: [
    { start: 0n, end: QUARTER, owner: a, number: 7, lostAt: 5 },
    { start: QUARTER, end: 2n * QUARTER, owner: b, number: 310, lostAt: 0 },
    { start: 2n * QUARTER, end: RING_SIZE, owner: a, number: 310, lostAt: 0 },
  ],
  answers: undefined,
  pace: undefined,
};

export const certified: Certified = { kind: 'certified', proof: 'digest' };

export const refused: Refused = {
  kind: 'refused',
  pool: 'presence',
  asker: 'a.1',
  code: 'UNKNOWN_POOL',
  message: 'no such pool',
  retryable: false,
};

export const notLeader: NotLeader = {
  kind: 'notLeader',
  pool: 'presence',
  incarnation: 'a.1',
  term: 2,
  leader: '10.0.0.2:7400',
};

export const probe: Probe = { kind: 'probe', asker: 'a.1', round: 3 };

export const role: Role = {
  kind: 'role',
  asker: 'a.1',
  round: 3,
  leads: { history: 'h', term: 2, leader: 'c4', holdMs: 10_980, isLogShared: true },
};

export const TO_MANAGER: Readonly<Record<string, ToGate>> = { prove, report, sync, certificate, probe };
export const FROM_MANAGER: Readonly<Record<string, FromManager>> = {
  update,
  changes,
  snapshot,
  certified,
  refused,
  notLeader,
  role,
};
