/**
 * One packet with an item of every kind, and one with nothing in it: for tests and for the document.
 */

import type { Packet } from '../core/messages.ts';
import { digestOf } from '../core/view-digest.ts';

export const GREETING: Packet = {
  group: 'default',
  view: 1,
  digest: digestOf({ members: ['a', 'b', 'c'], before: undefined }),
  from: 'a',
  incarnation: 7,
  toIncarnation: 0,
  sentMs: 1_700_000_000_000,
  echo: undefined,
  leaseMs: 10_000,
  clockSkewMs: 500,
  takeoverMs: 0,
  items: [],
};

const lease = {
  holder: 'a',
  incarnation: 7,
  number: 1_700_000_000_100_000,
  untilMs: 1_700_000_010_100,
  state: 'held',
  successor: undefined,
} as const;

const written = { askedMs: 1_700_000_000_090.5, round: 2, member: 'b', incarnation: 9, attempt: 4 };

export const QUESTIONS: Packet = {
  ...GREETING,
  sentMs: 1_700_000_000_100,
  takeoverMs: 15_000,
  echo: { sentMs: 1_700_000_000_040, receivedMs: 1_700_000_000_041.25 },
  items: [
    { kind: 'read', attempt: 1, resource: 'job', askedMs: 1_700_000_000_100, round: 1 },
    { kind: 'write', attempt: 300, resource: 'é', askedMs: 1_700_000_000_100, round: 2, lease },
    { kind: 'enqueue', resource: 'job', member: 'b' },
    { kind: 'dequeue', resource: 'job', member: 'b' },
    { kind: 'notify', resource: 'job' },
    { kind: 'query', attempt: 2, resource: 'job' },
  ],
};

export const ANSWERS: Packet = {
  ...GREETING,
  view: 300,
  digest: digestOf({ members: ['a', 'b', 'd'], before: ['a', 'b', 'c'] }),
  toIncarnation: 9,
  items: [
    { kind: 'promised', attempt: 1, written: undefined, lease: undefined },
    { kind: 'promised', attempt: 2, written, lease: { ...lease, holder: 'b', state: 'free' } },
    { kind: 'promised', attempt: 3, written, lease: { ...lease, state: 'left', successor: 'c' } },
    { kind: 'accepted', attempt: 4 },
    { kind: 'refused', attempt: 5, of: 'read', why: 'outbid', detail: 3 },
    { kind: 'refused', attempt: 6, of: 'write', why: 'late', detail: 0 },
    { kind: 'refused', attempt: 7, of: 'read', why: 'early', detail: 0 },
    { kind: 'refused', attempt: 8, of: 'read', why: 'clock-off', detail: 0 },
    { kind: 'refused', attempt: 9, of: 'write', why: 'recovering', detail: 3_200.5 },
    { kind: 'refused', attempt: 10, of: 'read', why: 'other-view', detail: 0 },
    { kind: 'found', attempt: 11, written: undefined, lease: undefined },
    { kind: 'found', attempt: 12, written, lease },
  ],
};

export const SAMPLES: Readonly<Record<string, Packet>> = {
  flease_greeting: GREETING,
  flease_questions: QUESTIONS,
  flease_answers: ANSWERS,
};
