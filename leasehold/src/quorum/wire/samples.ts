/** One message, call and reply of every kind, with every optional part present in one of them: for tests and for the fuzzer. */

import { instant } from '../../runtime/time.ts';
import type { Configuration, PlacementChange } from '../core/configuration.ts';
import type { Frame } from '../core/journal.ts';
import { batch, compareAndSet, get, put, remove, type Request } from '../core/operation.ts';
import type { Found } from '../core/result.ts';
import type { Snapshot } from '../core/snapshot.ts';
import type { Call, Reply } from './calls.ts';
import type { PeerMessage } from './messages.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const members = [
  { seat: 0, storage: 'a~1f' },
  { seat: 29, storage: 'é~2e' },
];

const configuration: Configuration = {
  members,
  leader: 0,
  placement: {
    mode: 'chosen',
    slices: [3, 0],
    objects: new Map([[4_294_967_295, 5]]),
    automatic: { weight: 2.5 },
  },
  quorum: 'majority',
  removed: ['b~3d'],
};

const change: PlacementChange = {
  ...{ mode: 'changed', slices: [1, 2, 3, 4], weight: 0.5 },
  objects: new Map([
    [0, 3],
    [77, undefined],
  ]),
};

const { placement: _, ...electorate } = configuration;

const request = (command: Request['command'], id: number): Request => ({
  ...{ session: 40_960, number: 3, answeredBelow: 2, command, origin: 'a~1f', life: 7, id },
});

const operations = [
  batch([
    request(put('k', bytes('v')), 1),
    request(remove('k'), 2),
    request(compareAndSet({ key: 'k', is: 'absent' }, bytes('')), 3),
    request(compareAndSet({ key: 'k', is: 'revision', revision: 4_097 }, bytes('w')), 4),
    request(compareAndSet({ key: 'k', is: 'value', value: bytes('w') }, bytes('x')), 5),
    request(get('😀'), -6),
    request({ kind: 'open-session' }, 7),
    request({ kind: 'expire-session', session: 40_960 }, 0),
  ]),
  { kind: 'configuration', configuration } as const,
  { kind: 'configuration', configuration: { ...configuration, placement: change } } as const,
];

const found: readonly Found[] = [
  { key: 'k', value: bytes('v'), revision: 8_192 },
  { key: 'gone', value: undefined, revision: 0 },
];

const done = { kind: 'done', revision: 8_192, found } as const;

const outcomes = [
  done,
  { kind: 'unmet', revision: 9_000, found } as const,
  { kind: 'opened', session: 40_960 } as const,
  { kind: 'expired' } as const,
  { kind: 'no-session' } as const,
  { kind: 'refused', why: 'beyond-window' } as const,
  { kind: 'omitted', of: 'unmet', revision: 9_000, bytes: 2 ** 30 } as const,
  { kind: 'duplicate', of: done } as const,
];

const snapshot: Snapshot = {
  slot: 12,
  configuration: { ...configuration, leader: undefined, placement: { mode: 'all' }, quorum: 'all' },
  state: {
    values: found.slice(0, 1),
    sessions: [
      {
        id: 40_960,
        answeredBelow: 2,
        outcomes: outcomes.map((result, place) => ({ number: place + 2, revision: 41_000 + place, result })),
      },
    ],
  },
};

const entries = operations.map((operation, place) => ({ ballot: 32 + place, operation }));

export const MESSAGES: readonly PeerMessage[] = [
  { kind: 'pre-vote', ballot: 33, last: 300 },
  { kind: 'pre-voted', ballot: 33, isYes: true },
  { kind: 'prepare', ballot: 33, chosen: 299 },
  { kind: 'prepared', ballot: 33, chosen: 299, committed: 298, entries, votes: 41, isComplete: true },
  { kind: 'refused', ballot: 33, promised: 65 },
  { kind: 'accept', ballot: 33, merged: 300, first: 301, operations, chosen: 300, committed: 299 },
  { kind: 'gap', ballot: 33, from: 12 },
  {
    ...{ kind: 'install', ballot: 33, merged: 300, slot: 12, configuration, first: 4, isLast: true },
    ...snapshot.state,
  },
  { kind: 'installing', ballot: 33, slot: 12, next: 4 },
  {
    kind: 'accepted',
    ballot: 33,
    upTo: 302,
    committed: 300,
    settled: 299,
    life: 7,
    number: 9,
    mask: 2 ** 30 - 1,
    votes: 42,
  },
  { kind: 'ask', life: 7, number: 1, leaseMs: 2_000.5, ballot: 33, upTo: -1 },
  { kind: 'promise', life: 7, number: 1, last: 302, stamp: instant(81_234.5), by: 3 },
  { kind: 'release', life: 7, number: 1, isDiskFull: true },
  { kind: 'forward', requests: [request(get('k'), -1)] },
  { kind: 'remote-read', id: 2 ** 33, keys: ['k', ''] },
  { kind: 'remote-answer', id: 2 ** 33, answer: { kind: 'read', served: 'held', found, position: 302 } },
  { kind: 'remote-answer', id: 1, answer: undefined },
  { kind: 'query', id: 1 },
  { kind: 'queried', id: 1, last: 302 },
  { kind: 'join' },
  { kind: 'lead-now', ballot: 33 },
  { kind: 'fetch', first: 3, last: 5 },
  { kind: 'compare', first: 3, last: 5 },
  { kind: 'fetched', first: 3, operations, snapshot },
  { kind: 'check-in', nonce: 2 ** 48 },
  {
    ...{ kind: 'checked-in', nonce: 2 ** 48, votes: 42, slot: 7, configuration: electorate },
    ...{ promised: 33, reached: 301, holdMs: 2_554.5 },
  },
  {
    kind: 'usage',
    usage: {
      ...{ reads: 100, localReads: 91, sliceReads: [1.5, 0], sliceWrites: [0, 2.25] },
      objects: [{ object: 4_294_967_295, reads: 1.5, writes: 0.0625 }],
      roundTrips: new Map([['a~1f', 120.25]]),
    },
  },
  {
    kind: 'hello',
    ...{ group: 'default', storage: 'a~1f', life: 7, process: 'ab12', address: '10.0.0.1:7600' },
    ...{ initial: members, isJoining: false, cluster: '0123456789abcdef' },
  },
];

export const CALLS: readonly Call[] = [
  { kind: 'submit', id: 1, session: 40_960, number: 3, answeredBelow: 2, command: put('k', bytes('v')) },
  { kind: 'read', id: 2, mode: 'best', keys: ['k'] },
  { kind: 'watch', id: 3, from: 12, first: 'a', end: 'b' },
  { kind: 'watch', id: 4, from: undefined, first: '', end: undefined },
  { kind: 'unwatch', id: 4 },
  { kind: 'status', id: 5 },
  { kind: 'change', id: 6, change: { kind: 'add', storage: 'd~1' } },
  { kind: 'change', id: 7, change: { kind: 'remove', storage: 'b~1' } },
  { kind: 'change', id: 10, change: { kind: 'replace', storage: 'b~1', by: 'b~2' } },
  { kind: 'resolve', id: 11, name: 'b' },
  { kind: 'change', id: 8, change: { kind: 'placement', placement: { mode: 'leader' } } },
  { kind: 'transfer', id: 9, to: 'b' },
  { kind: 'read-each', id: 12, mode: 'best', keys: ['k', 'gone'] },
];

export const REPLIES: readonly Reply[] = [
  { kind: 'answer', id: 1, answer: { kind: 'result', result: done, position: 12 } },
  { kind: 'answer', id: 2, answer: { kind: 'read', served: 'local', found, position: 12 } },
  { kind: 'answer', id: 3, answer: { kind: 'changed', position: 12 } },
  { kind: 'answer', id: 4, answer: { kind: 'not-changed', why: 'no-free-seat' } },
  { kind: 'answer', id: 5, answer: { kind: 'refused', why: 'busy' } },
  { kind: 'changes', id: 6, position: 12, isWhole: true, found },
  { kind: 'watch-behind', id: 7, oldest: 10 },
  { kind: 'status', id: 8, json: '{}' },
  { kind: 'resolved', id: 10, member: 'b~1', isMemberConnected: false, newcomers: ['b~2'], wasRemoved: true },
  { kind: 'failed', id: 9, code: 'QUORUM_NOT_LEADER', message: 'é' },
  { kind: 'found', id: 12, first: 0, found, isLast: true },
];

export const FRAMES: readonly Frame[] = [
  {
    ...{ promised: 33, chosen: 10, committed: 9, lastBefore: 11, holdMs: 2_554.5, first: 12 },
    ...{ votes: 42, heard: new Map([['a~1f', 40]]) },
    ...{ truncateTo: Number.POSITIVE_INFINITY, entries, base: undefined },
  },
  {
    ...{ promised: 33, chosen: 12, committed: 12, lastBefore: 14, holdMs: 0, first: 13 },
    ...{ votes: 43, heard: new Map() },
    ...{ truncateTo: 12, entries: [], base: 12 },
  },
];
