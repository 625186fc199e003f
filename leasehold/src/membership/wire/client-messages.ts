/**
 * The messages between a server and its clients.
 *
 *     stamp       4  client  to  stamp  server?  echo?  holds  isCountable
 *     detach      5  client
 *     answer      6  client  incarnation  stamp  ownStamp  number  leaseMs
 *     view        7  client  incarnation  number, and then a difference whose ids have places of their own
 *     refusal     8  client  incarnation  reason  by?
 *
 *     client      id  count
 *     difference  id  base  servers  clients  count name…  count name…
 *
 * The same difference goes to all clients that hold the same view, so a difference is encoded once. A base of 0 means that the difference is the whole view: numbers of views begin at 1.
 */

import { Flaw } from '../../runtime/msgpack/flaw.ts';
import type {
  Answer,
  Detach,
  FromClient,
  Refusal,
  Stamp,
  ToClient,
  ViewForClient,
} from '../core/messages.ts';
import type { ViewDifference } from '../core/view-difference.ts';
import { CLIENTS_OF_VIEW_MAX, SERVERS_MAX, VIEW_ID_BYTES_MAX } from './bounds.ts';
import { at, duration, finished, In, Out } from './parts.ts';

const REASONS = ['leaving', 'full', 'silent', 'outbid', 'server-name'] as const;

/** A difference never changes, and is forgotten with its view. */
const encodedDifferences = new WeakMap<ViewDifference, Uint8Array>();

/** Encodes the part that a message shares with others. To be called first, because one message is written at a time. */
export function prepareClientMessage(message: FromClient | ToClient): void {
  if (message.kind !== 'view' || encodedDifferences.has(message.difference)) return;
  const out = new Out();
  writeDifference(out, message.difference);
  encodedDifferences.set(message.difference, out.take());
}

export function writeClientMessage(out: Out, message: FromClient | ToClient): void {
  out.attachment(message.client);
  switch (message.kind) {
    case 'stamp':
      out.text(message.to);
      out.writer.float64(message.stamp);
      out.optional(message.server, (incarnation) => out.incarnation(incarnation));
      out.optional(message.echo, (echo) => out.writer.float64(echo));
      out.writer.varint(message.holds);
      out.writer.uint8(message.isCountable ? 1 : 0);
      return;
    case 'detach':
      return;
    case 'answer':
      out.incarnation(message.incarnation);
      out.writer.float64(message.stamp);
      out.writer.float64(message.ownStamp);
      out.writer.varint(message.number);
      out.writer.float64(message.leaseMs);
      return;
    case 'view':
      out.incarnation(message.incarnation);
      out.writer.varint(message.number);
      out.writer.bytes(encodedDifferences.get(message.difference) ?? new Uint8Array());
      return;
    case 'refusal':
      out.incarnation(message.incarnation);
      out.writer.uint8(REASONS.indexOf(message.reason));
      out.optional(message.by, (by) => out.attachment(by));
      return;
  }
}

export function readStamp(input: In): Stamp {
  const client = input.attachment();
  const to = input.name();
  const stamp = input.stamp();
  const server = input.optional(() => input.incarnation());
  const echo = input.optional(() => input.stamp());
  const holds = input.reader.varint();
  return { kind: 'stamp', client, to, stamp, server, echo, holds, isCountable: input.flag() };
}

export const readDetach = (input: In): Detach => ({ kind: 'detach', client: input.attachment() });

export function readAnswer(input: In): Answer {
  const client = input.attachment();
  const incarnation = input.incarnation();
  const [stamp, ownStamp, number] = [input.stamp(), input.stamp(), input.reader.varint()];
  const leaseMs = at('leaseMs', () => duration(input.reader.float64()));
  return { kind: 'answer', client, incarnation, stamp, ownStamp, number, leaseMs };
}

export function readView(input: In): ViewForClient {
  const client = input.attachment();
  const incarnation = input.incarnation();
  const number = input.reader.varint();
  const rest = new In(input.reader.bytes(input.reader.left));
  const difference = finished(
    rest,
    at('difference', () => readDifference(rest)),
  );
  return { kind: 'view', client, incarnation, number, difference };
}

export function readRefusal(input: In): Refusal {
  const client = input.attachment();
  const incarnation = input.incarnation();
  const reason = REASONS[input.reader.uint8()];
  if (reason === undefined) throw new Flaw('has a reason that there is not');
  return { kind: 'refusal', client, incarnation, reason, by: input.optional(() => input.attachment()) };
}

function writeDifference(out: Out, difference: ViewDifference): void {
  out.text(difference.id);
  out.writer.varint(difference.base ?? 0);
  out.ids(difference.servers);
  out.list(difference.clients, (client) => out.attachment(client));
  out.list(difference.serversGone, (name) => out.text(name));
  out.list(difference.clientsGone, (name) => out.text(name));
}

function readDifference(input: In): ViewDifference {
  const id = input.text(VIEW_ID_BYTES_MAX);
  const base = input.reader.varint();
  const servers = at('servers', () => input.ids());
  const clients = at('clients', () => input.attachments(CLIENTS_OF_VIEW_MAX));
  const serversGone = at('serversGone', () => input.list(SERVERS_MAX, () => input.name()));
  const clientsGone = at('clientsGone', () => input.list(CLIENTS_OF_VIEW_MAX, () => input.name()));
  return { id, base: base === 0 ? undefined : base, servers, clients, serversGone, clientsGone };
}
