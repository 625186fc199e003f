/** A message of every kind, with everything in it: for tests, for the fuzzer and for the document. */

import { instant } from '../../runtime/time.ts';
import type { Attachment } from '../core/attachment.ts';
import { type MemberId, membershipOf } from '../core/incarnation.ts';
import type { AnyMessage, ServerRecord, Word } from '../core/messages.ts';

const A: MemberId = { name: 'a', incarnation: { startedMs: 1_700_000_000_000, nonce: 7 } };
const B: MemberId = { name: 'b', incarnation: { startedMs: 1_700_000_000_100, nonce: 9 } };
const C: Attachment = { name: 'c', incarnation: { startedMs: 1_700_000_000_200, nonce: 11 }, count: 2 };
const D: Attachment = { name: 'd', incarnation: { startedMs: 1_700_000_000_300, nonce: 13 }, count: 1 };

const word: Word = {
  incarnation: A.incarnation,
  stamp: instant(1_250.5),
  echo: { incarnation: B.incarnation, stamp: instant(900) },
  viewId: '3.5.00112233aabbccdd',
};

const record: ServerRecord = {
  ...A,
  sequence: 300,
  links: [B],
  cannotReach: [],
  list: { version: 4, clients: [C, D] },
  proposal: {
    ...membershipOf([
      { ...A, listVersion: 4 },
      { ...B, listVersion: 0 },
    ]),
    ...{ number: 3, holdMs: 1_920, chain: [membershipOf([{ ...A, listVersion: 3 }])] },
  },
  hasLeft: false,
};

export const SAMPLES: Readonly<Record<string, AnyMessage>> = {
  membership_heartbeat: {
    kind: 'heartbeat',
    word,
    linkEcho: { incarnation: B.incarnation, stamp: instant(900) },
    digest: 'a3c1f0e2b4d59687',
    versions: [
      { ...A, sequence: 300 },
      { ...B, sequence: 2 },
    ],
  },
  membership_first_heartbeat: {
    kind: 'heartbeat',
    word: { incarnation: A.incarnation, stamp: instant(0), echo: undefined, viewId: undefined },
    linkEcho: undefined,
    digest: 'e3b0c44298fc1c14',
    versions: [],
  },
  membership_heartbeat_without_versions: {
    kind: 'heartbeat',
    word,
    linkEcho: { incarnation: B.incarnation, stamp: instant(900) },
    digest: 'a3c1f0e2b4d59687',
    versions: undefined,
  },
  membership_records: {
    kind: 'records',
    records: [record, { ...record, ...B, links: [A], cannotReach: [A], hasLeft: true }],
  },
  membership_word: { kind: 'packet', from: A, to: B, hopsLeft: 8, payload: { kind: 'word', word } },
  membership_data: {
    kind: 'packet',
    from: A,
    to: B,
    hopsLeft: 7,
    payload: { kind: 'data', id: 130, oldestId: 129, body: new Uint8Array([1, 2, 3]) },
  },
  membership_datagram: {
    kind: 'packet',
    from: A,
    to: B,
    hopsLeft: 0,
    payload: { kind: 'datagram', channel: 'ratelimit/api', body: new Uint8Array([1, 2, 3]) },
  },
  membership_acknowledgement: {
    kind: 'packet',
    from: B,
    to: A,
    hopsLeft: 8,
    payload: { kind: 'acknowledgement', id: 130 },
  },
  membership_stamp: {
    ...{
      kind: 'stamp',
      client: C,
      to: 'a',
      stamp: instant(77.25),
      server: A.incarnation,
      echo: instant(1_250.5),
    },
    ...{ holds: 12, isCountable: true },
  },
  membership_first_stamp: {
    ...{ kind: 'stamp', client: C, to: 'a', stamp: instant(7), server: undefined, echo: undefined },
    ...{ holds: 0, isCountable: false },
  },
  membership_detach: { kind: 'detach', client: C },
  membership_answer: {
    ...{ kind: 'answer', client: C, incarnation: A.incarnation, stamp: instant(77.25) },
    ...{ ownStamp: instant(1_300), number: 12, leaseMs: 1_210.5 },
  },
  membership_view: {
    ...{ kind: 'view', client: C, incarnation: A.incarnation, number: 12 },
    difference: {
      ...{ id: '3.5.00112233aabbccdd', base: 11, servers: [B], clients: [C, D] },
      ...{ serversGone: ['x'], clientsGone: ['y', 'z'] },
    },
  },
  membership_refusal: {
    ...{ kind: 'refusal', client: C, incarnation: A.incarnation, reason: 'outbid', by: { ...C, count: 3 } },
  },
};
