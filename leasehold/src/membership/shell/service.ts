/**
 * A port on which a server of a group shows its state: `serveGroup`. Reading changes nothing. The one route that does something sends a
 * message, so that a group can be tried from the command line.
 *
 * Health by progress: a server is not ready while it has no view that acts or continues. A view change takes about a second, so only a longer one
 * counts.
 */

import { Buffer } from 'node:buffer';
import { failure, type HttpTextAnswer } from '../../node/http/exchange.ts';
import type { ProgressCheck } from '../../node/service/progress.ts';
import { jsonAnswer, queryParameter } from '../../node/service/route.ts';
import {
  boolean,
  listOf,
  number,
  object,
  oneOf,
  orNull,
  text,
  textOrNull,
  whole,
  wholeOrNull,
} from '../../node/service/schema.ts';
import { type ServeOptions, type ServiceServer, serveService } from '../../node/service/serve-service.ts';
import type { Service } from '../../node/service/service.ts';
import { LeaseholdError } from '../../runtime/errors.ts';
import { familiesOf } from '../../runtime/metrics.ts';
import { VERSION } from '../../runtime/version.ts';
import type { Group, GroupEvent } from './group.ts';
import { METRICS } from './metrics.ts';
import { pageAnswer } from './page.ts';

export type ServeGroupOptions = ServeOptions;
export type GroupServer = ServiceServer;

export const DEFAULT_GROUP_HTTP_PORT = 7_701;

/**
 * Resolves when the port listens, 7701 unless the options say otherwise. Close it before the group.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 */
export const serveGroup = (group: Group, options: ServeGroupOptions = {}): Promise<GroupServer> =>
  serveService(groupService(group), options, DEFAULT_GROUP_HTTP_PORT);

const names = (description: string) => listOf(text('a name'), description);

const VIEW = object({
  id: text('equal at all members'),
  members: names('all servers of the view, sorted'),
  clients: names('all clients of the view, sorted'),
  kept: names('the members that came through the same views'),
  lost: names('the members of the view before that are gone'),
});

export const groupService = (group: Group): Service<GroupEvent> => ({
  ...{ name: 'group', title: 'Leasehold group server', version: VERSION },
  description: 'The view of one server of a group, how it reaches the others, and which links work.',
  status: () => group.status(),
  statusSchema: {
    name: text('the name of this server'),
    group: text('the group'),
    size: wholeOrNull('the most servers that the group is meant to have'),
    leaseMs: number('how long a confirmation lasts'),
    state: oneOf(['changing', 'in-view', 'panicking', 'left'], 'whether there is a view'),
    stateForMs: whole('for how long'),
    standing: oneOf(['acts', 'continues', 'none'], 'whether this server may act at this instant'),
    view: orNull(VIEW),
    waiting: whole('messages that wait to be acknowledged'),
    attachedClients: whole('clients that are attached to this server'),
    registry: orNull(
      object({
        members: names('the members of etcd'),
        prefix: text('the beginning of all keys of the group'),
        ttlMs: whole('how long a server acts without an answer of etcd'),
        isRegistered: boolean('this server is registered'),
        registered: names('all registered servers'),
        problem: textOrNull('why this server is not registered, or etcd does not answer'),
      }),
    ),
    peers: listOf(
      object({
        name: text('the peer'),
        address: text('where it is dialled'),
        isMember: boolean('it is in the view'),
        isConnected: boolean('messages to it arrive'),
        reach: {
          type: ['string', 'null'],
          enum: ['direct', 'overlay', null],
          description: 'how messages travel',
        },
        problem: textOrNull('why it cannot be reached'),
      }),
      'all other servers that are known',
    ),
    graph: listOf(
      object({
        name: text('a server'),
        links: names('links that work both ways'),
        cannotReach: names('members that it cannot reach at all'),
        hasLeft: boolean('it has left the group'),
      }),
      'the records that this server has',
    ),
    counters: object({
      changes: whole('view changes begun'),
      views: whole('views delivered'),
      panics: whole('times without an agreement'),
      messagesSent: whole('messages sent'),
      messagesFailed: whole('messages not acknowledged'),
      messagesReceived: whole('messages handed over'),
    }),
  },
  metrics: () => [...familiesOf(METRICS, group.status()), ...group.partMetrics()],
  events: {
    log: group.events,
    schema: { type: 'object', description: 'change, view, panic or left, with `id` and `atMs`' },
  },
  checks: () => [standingCheck(group)],
  routes: [
    {
      path: '/',
      summary: 'The graph of the group for people: a picture, and a table.',
      contentType: 'text/html',
      answer: () => pageAnswer(group.status()),
    },
    {
      path: '/v1/send',
      method: 'POST',
      summary: 'Sends a text to a member, or to all, and answers when it is acknowledged.',
      parameters: [
        queryParameter('to', 'the member; all others without it'),
        queryParameter('text', 'the message'),
      ],
      schema: object({ delivered: names('the members that received it') }),
      problems: { 503: 'not all acknowledged it, and why' },
      answer: ({ query }) => ({
        kind: 'promised',
        answer: send(group, query.get('to') ?? undefined, query.get('text') ?? ''),
      }),
    },
  ],
});

async function send(group: Group, to: string | undefined, words: string): Promise<HttpTextAnswer> {
  const bytes = Buffer.from(words);
  try {
    if (to !== undefined) {
      await group.send(to, bytes);
      return jsonAnswer({ delivered: [to] });
    }
    const { delivered, failed } = await group.broadcast(bytes);
    const [first] = failed.values();
    if (first !== undefined) throw first;
    return jsonAnswer({ delivered });
  } catch (error) {
    if (!(error instanceof LeaseholdError)) throw error;
    return failure(503, error.code, error.message);
  }
}

function standingCheck(group: Group): ProgressCheck {
  const { leaseMs } = group.status();
  return {
    name: 'view',
    afterMs: 2 * leaseMs,
    standsStill: () => {
      const { state, standing, registry } = group.status();
      if (standing !== 'none') return undefined;
      if (registry?.problem !== undefined && state !== 'left') return registry.problem;
      if (state === 'in-view') return 'this server is in a view, and does not act yet';
      if (state === 'left') return 'this server has left the group';
      return state === 'panicking' ? 'no view could be agreed on' : 'the next view is not agreed on yet';
    },
  };
}
