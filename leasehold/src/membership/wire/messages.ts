/** The messages of a group as forms: those between servers, and those between a server and its clients. */

import { ByteWriter } from '../../runtime/msgpack/bytes.ts';
import {
  bytes,
  flag,
  type Form,
  list,
  mapped,
  optional,
  record,
  union,
  whole,
  wholeUpTo,
  word as wordOf,
} from '../../runtime/wire/form.ts';
import type { Attachment, ClientList } from '../core/attachment.ts';
import { CLIENTS_MAX } from '../core/clients.ts';
import type { MemberId, Membership } from '../core/incarnation.ts';
import type { AnyMessage, Echo, Payload, Post, ServerRecord, Version, Word } from '../core/messages.ts';
import { HOPS_MAX } from '../core/overlay.ts';
import type { ViewDifference } from '../core/view-difference.ts';
import {
  BODY_BYTES_MAX,
  CHAIN_MAX,
  CLIENTS_OF_VIEW_MAX,
  PARTS_MAX,
  RECORDS_MAX,
  SERVERS_MAX,
} from './bounds.ts';
import { id, ids, set, withOwnNames } from './frame-names.ts';
import {
  channel,
  digest,
  duration,
  incarnation,
  name,
  number,
  sortedByName,
  stamp,
  viewId,
} from './parts.ts';

/** A process, and a number that it counts. */
const counting = <Counted extends MemberId, Name extends keyof Counted & string>(
  counter: Name,
  form: Form<number>,
): Form<Counted> =>
  mapped(
    record<{ readonly id: MemberId; readonly counted: number }>({ id, counted: form }),
    (given: Counted) => ({ id: given, counted: given[counter] as number }),
    ({ id: process, counted }) =>
      ({ name: process.name, incarnation: process.incarnation, [counter]: counted }) as unknown as Counted,
  );

const client: Form<Attachment> = counting<Attachment, 'count'>('count', whole);

const version: Form<Version> = counting<Version, 'sequence'>('sequence', whole);

const echo: Form<Echo> = record<Echo>({ incarnation, stamp });

const word: Form<Word> = record<Word>({
  incarnation,
  stamp,
  echo: optional(echo),
  viewId: optional(viewId),
});

const clientList: Form<ClientList> = record<ClientList>({
  version: number,
  clients: sortedByName(list(client, CLIENTS_MAX)),
  parts: list(channel, PARTS_MAX),
});

interface WireRecord {
  readonly set: Membership;
  readonly id: MemberId;
  readonly sequence: number;
  readonly hasLeft: boolean;
  readonly links: readonly MemberId[];
  readonly cannotReach: readonly MemberId[];
  readonly list: ClientList;
  readonly number: number;
  readonly holdMs: number;
  readonly chain: readonly Membership[];
}

const serverRecord: Form<ServerRecord> = mapped(
  record<WireRecord>({
    set, // First: nearly all processes that the record names are in this set.
    id,
    sequence: number,
    hasLeft: flag,
    links: ids,
    cannotReach: ids,
    list: clientList,
    number,
    holdMs: duration,
    chain: list(set, CHAIN_MAX),
  }),
  // Objects with all their fields at once: a spread costs more than the bytes.
  (given: ServerRecord): WireRecord => ({
    set: given.proposal,
    id: given,
    sequence: given.sequence,
    hasLeft: given.hasLeft,
    links: given.links,
    cannotReach: given.cannotReach,
    list: given.list,
    number: given.proposal.number,
    holdMs: given.proposal.holdMs,
    chain: given.proposal.chain,
  }),
  (given): ServerRecord => ({
    name: given.id.name,
    incarnation: given.id.incarnation,
    sequence: given.sequence,
    links: given.links,
    cannotReach: given.cannotReach,
    list: given.list,
    proposal: {
      key: given.set.key,
      members: given.set.members,
      number: given.number,
      holdMs: given.holdMs,
      chain: given.chain,
    },
    hasLeft: given.hasLeft,
  }),
);

/** The application may keep a body for longer than the frame is kept, so bodies are copied. */
const body: Form<Uint8Array> = bytes(BODY_BYTES_MAX);

const route = { from: id, to: id, viewId, id: whole };

const post: Form<Post> = union<'kind', Post>('kind', {
  letter: { ...route, oldestId: whole, body },
  receipt: route,
});

const payload: Form<Payload> = union<'kind', Payload>('kind', {
  word: { word },
  data: { id: whole, oldestId: whole, body },
  acknowledgement: { id: whole },
  datagram: { channel, body },
  post: { post },
});

/** The same difference goes to all clients that hold the same view: it is encoded once, and forgotten with its view. */
const difference: Form<ViewDifference> = encodedOnce(
  withOwnNames(
    record<ViewDifference>({
      id: viewId,
      base: optional(whole),
      servers: ids,
      clients: sortedByName(list(client, CLIENTS_OF_VIEW_MAX)),
      serversGone: list(name, SERVERS_MAX),
      clientsGone: list(name, CLIENTS_OF_VIEW_MAX),
    }),
  ),
);

function encodedOnce<T extends object>(form: Form<T>): Form<T> {
  const known = new WeakMap<T, Uint8Array>();
  const scratch = new ByteWriter();
  const write = (writer: ByteWriter, value: T): void => {
    let encoded = known.get(value);
    if (encoded === undefined) {
      scratch.clear(); // If the one before could not be written, nothing is left of it.
      form.write(scratch, value);
      encoded = scratch.take();
      known.set(value, encoded);
    }
    writer.bytes(encoded);
  };
  return { ...form, write };
}

export const message: Form<AnyMessage> = withOwnNames(
  union<'kind', AnyMessage>('kind', {
    heartbeat: {
      word,
      linkEcho: optional(echo),
      digest,
      versions: optional(list(version, SERVERS_MAX)),
    },
    records: { records: list(serverRecord, RECORDS_MAX) },
    packet: { from: id, to: id, hopsLeft: wholeUpTo(HOPS_MAX), payload },
    stamp: {
      client,
      to: name,
      stamp,
      server: optional(incarnation),
      echo: optional(stamp),
      holds: whole,
      greatestNumber: number,
      isCountable: flag,
    },
    detach: { client },
    answer: { client, incarnation, stamp, ownStamp: stamp, number: whole, leaseMs: duration },
    view: { client, incarnation, number: whole, difference },
    refusal: {
      client,
      incarnation,
      reason: wordOf('leaving', 'full', 'silent', 'outbid', 'server-name'),
      by: optional(client),
    },
    outgoing: { client, post },
    incoming: { client, incarnation, post },
  }),
);
