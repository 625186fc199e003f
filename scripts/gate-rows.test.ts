/**
 * Every message that a process can send to another, of every protocol, and who may say it. The kinds come from the codecs: a new kind that has no row here fails, and so
 * does a row without a kind. Where a function decides by the kind, the function is asked, with a token for the row alone and with tokens for all the others.
 */

import { describe, expect, it } from 'vitest';
import { item } from '../leasehold/src/flease/wire/items.ts';
import { message as membershipMessage } from '../leasehold/src/membership/wire/messages.ts';
import { readGrants } from '../leasehold/src/node/identity/grants.ts';
import type { Identity } from '../leasehold/src/node/identity/peer-identity.ts';
import { refusalOfMessage } from '../leasehold/src/pool/shell/manager/token-gate.ts';
import { fromManager, toManager } from '../leasehold/src/pool/wire/messages.ts';
import { refusalOfFrame } from '../leasehold/src/quorum/shell/gate.ts';
import { call, reply } from '../leasehold/src/quorum/wire/calls.ts';
import { message as quorumMessage } from '../leasehold/src/quorum/wire/messages.ts';
import { answer, toOwner } from '../leasehold/src/ratelimit/wire/messages.ts';
import { datagram } from '../leasehold/src/ratelimit/wire/spread.ts';

const names = (words: string): readonly string[] => words.split(' ');

interface Row {
  /** Who may say these, at the least. The name is the speaker's own, as the mesh, a hello or the message itself says. */
  readonly who: string;
  readonly kinds: readonly string[];
  /** Where a function decides: a token that suffices, and tokens that do not all together. */
  readonly right?: string;
  readonly wrong?: string;
}

const NOT_POOL = 'server:flease|server:quorum|server:membership|owner:ratelimit|operator:quorum';
const owner = (who: string, kinds: string): Row => ({
  ...{ who, kinds: names(kinds), right: 'owner:pool', wrong: 'server:*|client:*|reader:*|operator:*' },
});
const reader = (who: string, kinds: string): Row => ({
  ...{ who, kinds: names(kinds), right: 'reader:pool', wrong: NOT_POOL },
});

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  // The mesh admits servers of the own group under the role of the hello, and takes packets in that name alone.
  flease: [
    {
      who: 'server',
      kinds: names('read write query promised found accepted refused enqueue dequeue notify'),
    },
  ],
  membership: [
    { who: 'server', kinds: names('heartbeat records packet') },
    { who: 'client', kinds: names('stamp detach outgoing') },
    { who: 'server, to clients', kinds: names('answer view refusal incoming') },
  ],
  'quorum, replicas': [
    {
      who: 'server under the name in the storage id',
      kinds: names('hello'),
      right: 'server:quorum/default',
      wrong: 'client:*|reader:*|operator:*|owner:*|server:quorum/other',
    },
    {
      who: 'server, whose hello was taken over this connection',
      kinds: names(
        'pre-vote pre-voted prepare prepared refused accept gap install installing accepted ask promise release forward remote-read remote-answer query queried join lead-now fetch compare fetched usage check-in checked-in',
      ),
    },
  ],
  'quorum, calls': [
    {
      ...{ who: 'reader', kinds: names('read read-each watch unwatch status resolve') },
      ...{ right: 'reader:quorum', wrong: 'server:flease|server:pool|server:membership|owner:pool' },
    },
    { who: 'client', kinds: names('submit'), right: 'client:quorum', wrong: 'reader:*|operator:*' },
    {
      ...{ who: 'operator', kinds: names('change step-down') },
      ...{ right: 'operator:quorum', wrong: 'server:*|owner:*|client:*|reader:*' },
    },
  ],
  'quorum, replies': [
    { who: 'server', kinds: names('answer changes failed found resolved status watch-behind') },
  ],
  'pool, to Managers': [
    owner('owner of the pool', 'prove'),
    owner('owner of the pool under the name', 'report'),
    owner('owner', 'certificate'),
    reader('reader of the pool', 'sync'),
    reader('reader', 'probe'),
  ],
  'pool, of Managers': [
    { who: 'server of the pool', kinds: names('update changes certified refused notLeader role') },
  ],
  'ratelimit, asks': [
    { who: 'owner of the pool under the name before the last #', kinds: names('ask hand-over') },
  ],
  'ratelimit, answers': [
    { who: 'owner of the pool under the name in the row', kinds: names('grant denial later taken') },
  ],
  'ratelimit, spread': [
    {
      who: 'server, in messages of its group',
      kinds: names('acknowledgement probe settle settled show transfer word'),
    },
  ],
};

const kindsOf = (samples: readonly { readonly kind: string }[]): readonly string[] =>
  [...new Set(samples.map(({ kind }) => kind))].sort();

const CODECS: Readonly<Record<string, readonly string[]>> = {
  flease: kindsOf(item.samples()),
  membership: kindsOf(membershipMessage.samples()),
  'quorum, replicas': kindsOf(quorumMessage.samples()),
  'quorum, calls': kindsOf(call.samples()),
  'quorum, replies': kindsOf(reply.samples()),
  'pool, to Managers': kindsOf(toManager.samples()),
  'pool, of Managers': kindsOf(fromManager.samples()),
  'ratelimit, asks': kindsOf(toOwner.samples()),
  'ratelimit, answers': kindsOf(answer.samples()),
  'ratelimit, spread': kindsOf(datagram.samples().map(({ message }) => message)),
};

const identityOf = (grants: string): Identity => ({
  ...{ id: '', cluster: 'blue', endS: undefined },
  grants: readGrants(grants),
});

/** Each sample of these codecs, and the function that decides. */
const DECIDED: Readonly<Record<string, readonly Decided[]>> = {
  'pool, to Managers': toManager.samples().map((message) => ({
    kind: message.kind,
    refusal: (identity) => refusalOfMessage(message, identity),
  })),
  'quorum, calls': call.samples().map((sample) => ({
    kind: sample.kind,
    refusal: (identity) => refusalOfFrame('default', { from: 'client', calls: [sample] }, identity),
  })),
  'quorum, replicas': quorumMessage.samples().map((message) => ({
    kind: message.kind,
    refusal: (identity) => refusalOfFrame('default', { from: 'replica', message }, identity),
  })),
};

interface Decided {
  readonly kind: string;
  refusal(identity: Identity): { readonly code: string } | undefined;
}

describe('a message', () => {
  it.each(Object.keys({ ...ROWS, ...CODECS }))('of %s has a row that says who may say it', (codec) => {
    const rows = (ROWS[codec] ?? []).flatMap(({ kinds }) => kinds);
    expect([...rows].sort()).toEqual(CODECS[codec]);
  });

  it.each(Object.keys(DECIDED))('of %s is refused to each who may not say it, and to no other', (codec) => {
    let decided = 0;
    for (const { kind, refusal } of DECIDED[codec] ?? []) {
      const { right, wrong } = ROWS[codec]?.find(({ kinds }) => kinds.includes(kind)) ?? {};
      if (right === undefined || wrong === undefined) continue;
      decided += 1;
      expect(refusal(identityOf(right)), `${kind} with ${right}`).toBeUndefined();
      expect(refusal(identityOf(wrong))?.code, `${kind} with ${wrong}`).toBe('NOT_ALLOWED');
    }
    expect(decided).toBeGreaterThan(0);
  });
});
