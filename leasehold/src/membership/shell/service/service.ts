/**
 * What a server or a client of a group shows of its state. Reading changes nothing. The one route that does something sends a
 * message, so that a group can be tried from the command line.
 *
 * Health by progress: a process is not ready while it has no view that acts or continues. A view change takes about a second, so only a longer one
 * counts.
 */

import { failure, type HttpTextAnswer } from '../../../node/http/exchange.ts';
import type { EventLog, ServiceEvent } from '../../../node/service/event-log.ts';
import { STATUS_PORTS } from '../../../node/service/ports.ts';
import type { ProgressCheck } from '../../../node/service/progress.ts';
import { jsonAnswer, queryParameter } from '../../../node/service/route.ts';
import {
  boolean,
  listOf,
  number,
  object,
  oneOf,
  orNull,
  type Schema,
  text,
  textOrNull,
  whole,
  wholeOrNull,
} from '../../../node/service/schema.ts';
import { ownFields, type Service } from '../../../node/service/service.ts';
import { LeaseholdError } from '../../../runtime/errors.ts';
import type { Status } from '../../../runtime/handle.ts';
import type { Family } from '../../../runtime/metrics-text.ts';
import { familiesOf } from '../../../runtime/metrics.ts';
import { type GroupClientStatus, type GroupMemberStatus, waitsForOf } from '../status.ts';
import { CLIENT_METRICS, MEMBER_METRICS } from './metrics.ts';
import { pageAnswer } from './page.ts';

interface Shown<S extends Status> {
  readonly log: EventLog<ServiceEvent>;
  status(): S;
}

/** As much of a member as is shown. */
export interface ShownMember extends Shown<GroupMemberStatus> {
  partMetrics(): readonly Family[];
  send(to: string, message: string): Promise<void>;
  broadcast(message: string): Promise<{
    readonly delivered: readonly string[];
    readonly failed: ReadonlyMap<string, LeaseholdError>;
  }>;
}

const names = (description: string) => listOf(text('a name'), description);

const VIEW = object({
  id: text('equal at all members'),
  members: names('all servers of the view, sorted'),
  clients: names('all clients of the view, sorted'),
  kept: names('the members that came through the same views'),
  lost: names('the members of the view before that are gone'),
});

/** Of servers and clients alike. */
const COMMON = {
  role: oneOf(['member', 'client'], 'member: a server of the group'),
  name: text('the name of this process'),
  leaseMs: number('how long a confirmation lasts'),
  state: oneOf(['changing', 'in-view', 'no-view', 'left'], 'whether there is a view'),
  stateForMs: whole('for how long'),
  standing: oneOf(['acts', 'continues', 'none'], 'whether this process may act at this instant'),
  view: orNull(VIEW),
  waiting: whole('messages that wait to be acknowledged'),
};

const COUNTERS = {
  changes: whole('view changes begun'),
  views: whole('views delivered'),
  noViews: whole('times without a view'),
};

const MEMBER_STATUS: Readonly<Record<string, Schema>> = {
  ...COMMON,
  maxServers: wholeOrNull('the most servers that the group is meant to have'),
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
    ...COUNTERS,
    messagesSent: whole('messages sent'),
    messagesFailed: whole('messages not acknowledged'),
    messagesReceived: whole('messages handed over'),
  }),
};

const CLIENT_STATUS: Readonly<Record<string, Schema>> = {
  ...COMMON,
  server: textOrNull('the server to which this client is attached'),
  servers: listOf(
    object({
      address: text('where a server may be'),
      name: textOrNull('the server that is connected there'),
      problem: textOrNull('why there is no connection'),
    }),
    'the addresses that this client was given',
  ),
  counters: object(COUNTERS),
};

const serviceOf = <S extends GroupMemberStatus | GroupClientStatus>({ status, log }: Shown<S>) => ({
  ...{ module: 'membership', instance: status().instance, kind: 'group' as const },
  usualPort: STATUS_PORTS.membership,
  status: () => ownFields(status()),
  // That this process does not act is a stall, and told as one.
  problems: () => status().problems.filter(({ level }) => level === 'warning'),
  events: {
    log,
    schema: {
      type: 'object',
      description:
        'membership.view, membership.view-ending, membership.no-view or membership.left, with `id`, `atMs` and `instance`',
    },
  },
  checks: () => [standingCheck(status)],
});

export const clientService = (client: Shown<GroupClientStatus>): Service => ({
  ...serviceOf(client),
  title: 'Leasehold client of a group',
  description: 'The view of one client of a group, and the server to which it is attached.',
  statusSchema: CLIENT_STATUS,
  metrics: () => familiesOf(CLIENT_METRICS, client.status()),
});

export const memberService = (group: ShownMember): Service => ({
  ...serviceOf(group),
  title: 'Leasehold server of a group',
  description: 'The view of one server of a group, how it reaches the others, and which links work.',
  statusSchema: MEMBER_STATUS,
  metrics: () => [...familiesOf(MEMBER_METRICS, group.status()), ...group.partMetrics()],
  page: () => pageAnswer(group.status()),
  routes: [
    {
      path: '/send',
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

async function send(group: ShownMember, to: string | undefined, words: string): Promise<HttpTextAnswer> {
  try {
    if (to !== undefined) {
      await group.send(to, words);
      return jsonAnswer({ delivered: [to] });
    }
    const { delivered, failed } = await group.broadcast(words);
    const [first] = failed.values();
    if (first !== undefined) throw first;
    return jsonAnswer({ delivered });
  } catch (error) {
    if (!(error instanceof LeaseholdError)) throw error;
    return failure(503, error.code, error.message);
  }
}

function standingCheck(status: () => GroupMemberStatus | GroupClientStatus): ProgressCheck {
  const { leaseMs } = status();
  return {
    name: 'view',
    afterMs: 2 * leaseMs,
    standsStill: () => {
      const waitsFor = waitsForOf(status());
      return waitsFor === undefined ? undefined : `this process does not act: it waits for ${waitsFor}`;
    },
  };
}
