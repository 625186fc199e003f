/**
 * Shares limits among the servers of a group: `joinLimits({ group })`.
 *
 * Asks and answers travel as datagrams of the group, over whichever links work, and all that one server has to say to another in a turn travels together.
 * A lost datagram costs the request that waits for it `askTimeoutMs` at most.
 */

import { randomId } from '../../node/id.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { keyOf, type MemberId } from '../../membership/core/incarnation.ts';
import type { GroupMember } from '../../membership/shell/group-member.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import { invalidOption } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { closeOnAbort } from '../../runtime/handle.ts';
import * as is from '../../runtime/option-kinds.ts';
import { type OptionTable, optional, required, resolveOptions } from '../../runtime/option-table.ts';
import { Outbox } from '../../runtime/outbox.ts';
import { OncePerTurn } from '../../runtime/turn.ts';
import { GroupDirectory, type GroupStanding } from '../core/shared/group-directory.ts';
import { type Answer, SERVERS_MAX } from '../core/shared/messages.ts';
import { type Bundle, decodeBundle, encodeBundle } from '../wire/bundle.ts';
import type { ToOwner } from '../wire/messages.ts';
import { SharedLimits } from './shared-limits.ts';

/** What `joinLimits` takes for the servers of a group. */
export interface JoinLimitsInGroupOptions {
  /** The group that this process has joined as a server. */
  group: GroupMember;

  /**
   * How many servers the group can have. A server that reaches k of them uses k / maxServers of a limit, so too small a number lets the sides of a partition use more
   * than the limit. Raise it at all servers before adding one. @default the one of `joinGroup`
   */
  maxServers?: number | undefined;

  /** Closes the limits. */
  signal?: AbortSignal | undefined;

  /** @default the logger of the group */
  logger?: Logger | undefined;
}

/** @internal */
export const JOIN_LIMITS_IN_GROUP_OPTIONS: OptionTable<JoinLimitsInGroupOptions> = {
  group: required(is.anything()),
  maxServers: optional(is.whole(1, SERVERS_MAX), 'that of `joinGroup`'),
  signal: optional(is.signal),
  logger: optional(is.logger, "the group's"),
};

const CHANNEL = 'leasehold-ratelimit';
const NOWHERE: GroupStanding = { standing: 'none', view: undefined, chain: [] };

/** @throws {InvalidArgumentError} before anything has started */
export function joinLimitsInGroup(options: JoinLimitsInGroupOptions): SharedLimits {
  const { group, signal, ...given } = resolveOptions('', options, JOIN_LIMITS_IN_GROUP_OPTIONS);
  if (typeof Object(group).inside !== 'object') {
    const rule = 'it must be a server of a group: what joinGroup returns with listen, and no client';
    throw invalidOption('group', typeof group, rule);
  }
  signal?.throwIfAborted();
  const { runtime, member, ...inside } = group.inside;
  const { logger = inside.logger, maxServers = inside.maxServers } = given;
  if (maxServers === undefined) {
    const rule = 'it must be the number of servers that the group can have; give it here or to joinGroup';
    throw invalidOption('maxServers', maxServers, rule);
  }
  const episodes = new EpisodeLog(logger, runtime);
  let isClosed = false;
  const inGroup = standingOf(group);
  const standing = (): GroupStanding => (isClosed ? NOWHERE : inGroup());
  const directory = new GroupDirectory({ name: group.name, maxServers, standing });
  const asks = new Outbox<ToOwner>();
  const answers = new Outbox<Answer>();
  const sendAll = (to: string, bundle: Bundle): void => {
    for (const bytes of encodeBundle(bundle)) group.datagram(to, CHANNEL, bytes, false);
  };
  const sending = new OncePerTurn(atEndOfTurn, () => {
    for (const [to, items] of asks.take()) sendAll(to, { kind: 'asks', asks: items });
    for (const [to, items] of answers.take()) sendAll(to, { kind: 'answers', answers: items });
  });
  const incarnationOf = (process: string): string | undefined =>
    member.view?.members.find((each) => keyOf(each) === process)?.name;

  let closing: Disposable | undefined;
  const limits = new SharedLimits({
    ...{
      name: group.name,
      instance: group.group,
      address: group.name,
      epoch: randomId(),
      directory,
      runtime,
      logger,
    },
    sendAsk: (to, ask) => {
      asks.add(to, ask);
      sending.soon();
    },
    sendAnswer: (process, answer) => {
      // A later process of the same name has asked for nothing.
      const to = incarnationOf(process);
      if (to === undefined) return;
      answers.add(to, answer);
      sending.soon();
    },
    close: async () => {
      closing?.[Symbol.dispose]();
      isClosed = true;
      attached[Symbol.dispose]();
      episodes[Symbol.dispose]();
      limits.directoryChanged();
    },
    isOnGroup: true,
  });

  const receive = (from: MemberId, body: Uint8Array): void => {
    let bundle: Bundle;
    try {
      bundle = decodeBundle(body);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      episodes.happened('malformed', 'a server sent asks or answers that cannot be read', {
        from: from.name,
        why,
      });
      return;
    }
    if (bundle.kind === 'asks') {
      for (const ask of bundle.asks) {
        if (ask.kind === 'hand-over') limits.receiveHandOver(keyOf(from), ask);
        else limits.receiveAsk(keyOf(from), ask);
      }
    } else for (const answer of bundle.answers) limits.receiveAnswer(answer);
  };
  const attached = group.attach(CHANNEL, {
    delivered: () => limits.directoryChanged(),
    receive,
    left: () => void limits.close(),
    isAnnounced: true,
  });
  limits.directoryChanged();
  closing = closeOnAbort(signal, limits, (why) => logger.error('closing failed', { why: String(why) }));
  return limits;
}

/** Reads the standing for every decision, and the names once for each view. */
function standingOf(group: GroupMember): () => GroupStanding {
  const { member } = group.inside;
  let last: Omit<GroupStanding, 'standing'> = NOWHERE;
  return () => {
    const { view } = group;
    if (view === undefined || member.view?.id !== view.id) return NOWHERE;
    const standing = group.standing(view);
    if (last.view?.id === view.id) return { standing, view: last.view, chain: last.chain };
    const { key, parts } = member.view;
    const sharers = view.members.filter((name) => parts.get(name)?.includes(CHANNEL));
    const names = { id: view.id, key, members: view.members, sharers, kept: view.kept };
    // During a change the chain of the view is not known any more, and is not needed.
    if (standing === 'none') return { standing, view: names, chain: [] };
    const chain = member.chain.map((each) => ({ key: each.key }));
    last = { view: names, chain };
    return { standing, view: names, chain };
  };
}
