/**
 * Shares limits among the servers of a group: `shareLimitsInGroup`.
 *
 * Asks and answers travel as datagrams of the group, over whichever links work, and all that one server has to say to another in a turn travels together.
 * A lost datagram costs the request that waits for it `waitMs` at most.
 */

import { randomId } from '../../node/id.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { keyOf, type MemberId } from '../../membership/core/incarnation.ts';
import type { Group } from '../../membership/shell/group.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { GroupDirectory, type GroupStanding } from '../owner/group-directory.ts';
import type { Answer, Ask } from '../owner/messages.ts';
import { type Bundle, decodeBundle, encodeBundle } from '../wire/bundle.ts';
import { SIZE_MAX } from '../wire/codec.ts';
import { LimitSharing } from './limit-sharing.ts';

export interface ShareLimitsInGroupOptions {
  /**
   * How many servers the group can have. A server that reaches k of them uses k / size of a limit, so too small a size lets the sides of a partition use more
   * than the limit. Raise it at all servers before adding one. @default the `size` of `joinGroup`
   */
  size?: number | undefined;

  /** @default the logger of the group */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<ShareLimitsInGroupOptions> = { size: true, logger: true };
const CHANNEL = 'leasehold-ratelimit';
const NOWHERE: GroupStanding = { standing: 'none', view: undefined, chain: [] };

/**
 * Every server of the group has to share limits: a server that does not is the owner of keys all the same, and requests for these are cut off.
 *
 * @throws {InvalidOptionError} before anything has started
 */
export function shareLimitsInGroup(group: Group, options: ShareLimitsInGroupOptions = {}): LimitSharing {
  checkOptionNames('', options, OPTIONS);
  if (typeof Object(group).inside !== 'object') {
    const rule = 'it must be a server of a group: what joinGroup returns with listen, and no client';
    throw new InvalidOptionError('group', typeof group, rule);
  }
  const { runtime, member, ...inside } = group.inside;
  const { logger = inside.logger } = options;
  const size = options.size ?? inside.size;
  if (size === undefined || !Number.isSafeInteger(size) || size < 1 || size > SIZE_MAX) {
    const rule = 'it must be the number of servers that the group can have; give it here or to joinGroup';
    throw new InvalidOptionError('size', size, rule);
  }
  const episodes = new EpisodeLog(logger, runtime);
  let isClosed = false;
  const inGroup = standingOf(group);
  const standing = (): GroupStanding => (isClosed ? NOWHERE : inGroup());
  const directory = new GroupDirectory({ name: group.name, size, standing });
  const outbox = new Outbox((to, bytes) => group.datagram(to, CHANNEL, bytes, false));
  const incarnationOf = (process: string): string | undefined =>
    member.view?.members.find((each) => keyOf(each) === process)?.name;

  const sharing = new LimitSharing({
    ...{
      name: group.name,
      pool: group.group,
      address: group.name,
      epoch: randomId(),
      directory,
      runtime,
      logger,
    },
    sendAsk: (to, ask) => outbox.ask(to, ask),
    sendAnswer: (process, answer) => {
      // A later process of the same name has asked for nothing.
      const to = incarnationOf(process);
      if (to !== undefined) outbox.answer(to, answer);
    },
    close: async () => {
      isClosed = true;
      attached[Symbol.dispose]();
      episodes[Symbol.dispose]();
      sharing.directoryChanged();
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
    if (bundle.kind === 'asks') for (const ask of bundle.asks) sharing.receiveAsk(keyOf(from), ask);
    else for (const answer of bundle.answers) sharing.receiveAnswer(answer);
  };
  const attached = group.attach(CHANNEL, {
    delivered: () => sharing.directoryChanged(),
    receive,
    left: () => void sharing.close(),
  });
  sharing.directoryChanged();
  return sharing;
}

/** Reads the standing for every decision, and the names once for each view. */
function standingOf(group: Group): () => GroupStanding {
  const { member } = group.inside;
  let last: Omit<GroupStanding, 'standing'> = NOWHERE;
  return () => {
    const { view } = group;
    if (view === undefined || member.view?.id !== view.id) return NOWHERE;
    const standing = group.standing(view);
    if (last.view?.id === view.id) return { standing, view: last.view, chain: last.chain };
    const names = { id: view.id, key: member.view.key, members: view.members, kept: view.kept };
    // During a change the chain of the view is not known any more, and is not needed.
    if (standing === 'none') return { standing, view: names, chain: [] };
    const chain = member.chain.map(({ key, members }) => ({ key, members: members.map(({ name }) => name) }));
    last = { view: names, chain };
    return { standing, view: names, chain };
  };
}

/** What is to be said to each server at the end of the turn. */
class Outbox {
  readonly #send: (to: string, bytes: Uint8Array) => void;
  #asks = new Map<string, Ask[]>();
  #answers = new Map<string, Answer[]>();
  #isDue = false;

  constructor(send: (to: string, bytes: Uint8Array) => void) {
    this.#send = send;
  }

  ask(to: string, ask: Ask): void {
    const asks = this.#asks.get(to);
    if (asks === undefined) this.#asks.set(to, [ask]);
    else asks.push(ask);
    this.#schedule();
  }

  answer(to: string, answer: Answer): void {
    const answers = this.#answers.get(to);
    if (answers === undefined) this.#answers.set(to, [answer]);
    else answers.push(answer);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    atEndOfTurn(() => this.#flush());
  }

  #flush(): void {
    const [allAsks, allAnswers] = [this.#asks, this.#answers];
    this.#isDue = false;
    this.#asks = new Map();
    this.#answers = new Map();
    for (const [to, asks] of allAsks) this.#sendAll(to, { kind: 'asks', asks });
    for (const [to, answers] of allAnswers) this.#sendAll(to, { kind: 'answers', answers });
  }

  #sendAll(to: string, bundle: Bundle): void {
    for (const bytes of encodeBundle(bundle)) this.#send(to, bytes);
  }
}
