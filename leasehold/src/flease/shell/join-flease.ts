/**
 * Joins a group from a running process: `joinFlease`, and what it can be told.
 *
 * It is up when this resolves: it listens, and has begun to look for the others. It does not take part yet. A
 * process without a disk cannot know what it promised before it was started, so it keeps silent until that
 * cannot matter any more: a lease and twice the skew, each time. `acquire` waits for it; who wants to know when it
 * is over awaits `ready()`.
 */

import { randomId } from '../../node/id.ts';
import {
  type SecureContextOptions,
  type SecureTexts,
  secureTexts,
} from '../../node/http-client/secure-context.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { isLoopback } from '../../node/tcp/binding.ts';
import { PortInUseError } from '../../node/tcp/errors.ts';
import { mutualTls } from '../../node/tcp/mutual-tls.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { warnings } from '../../node/warnings.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { textOption } from '../../runtime/text-option.ts';
import { NAME_CHARACTERS_MAX } from '../messages.ts';
import { type FleaseDurations, resolveFleaseDurations } from '../options.ts';
import { checkView } from '../view.ts';
import { Connections } from './connections.ts';
import { Flease } from './flease.ts';
import { checkAddress, checkPeers, type Peers } from './peers-option.ts';

export interface JoinFleaseOptions extends FleaseDurations {
  /** Which of the members this is. Never two processes at a time under one name. */
  id: string;

  /** All members and where they listen, this one among them. The same everywhere. */
  peers: Peers;

  /** Groups of different names have nothing to say to each other. @default 'default' */
  group?: string | undefined;

  /** Which view of the group these peers are; one more with each change, so at least 2 with `before`. @default 1 */
  view?: number | undefined;

  /** The members of the view before, for one that is started while the group changes. @default none */
  before?: Peers | undefined;

  /** Where to listen, if not at the address that the others know, as `0.0.0.0:7500`. @default the own one in `peers` */
  listen?: string | undefined;

  /**
   * Encrypts what members say, and lets nobody take part whom `ca` does not vouch for. Each is a path, or the text of
   * such a file itself; `cert` must name the address that the others dial. All three, at every member.
   *
   * @default plain TCP
   */
  tls?: { readonly ca: string; readonly cert: string; readonly key: string } | undefined;

  /**
   * Allows to listen elsewhere than on loopback without TLS: everybody who can connect can take part. @default false
   */
  insecure?: boolean | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<JoinFleaseOptions> = {
  ...{ id: true, peers: true, group: true, view: true, before: true, listen: true, tls: true },
  ...{ insecure: true, logger: true, leaseMs: true, clockSkewMs: true, answerMs: true, noticeMs: true },
};

/** So many bytes of chance make a life, and every double can hold them. */
const LIFE_BYTES = 6;

/**
 * Resolves when it listens; it takes part after {@link Flease.ready}.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 */
export async function joinFlease(options: JoinFleaseOptions): Promise<Flease> {
  checkOptionNames('', options, OPTIONS);
  const id = textOption('id', options.id, NAME_CHARACTERS_MAX);
  const group = textOption('group', options.group ?? 'default', NAME_CHARACTERS_MAX);
  const peers = checkPeers('peers', options.peers);
  const before = options.before === undefined ? undefined : checkPeers('before', options.before);
  const own = peers.get(id);
  if (own === undefined) {
    throw new InvalidOptionError(
      'peers',
      [...peers.keys()].join(', '),
      `${id}, which is this member, must be among them`,
    );
  }
  const view = {
    number: options.view ?? 1,
    members: [...peers.keys()],
    before: before && [...before.keys()],
  };
  checkView(view);
  if (before !== undefined && view.number === 1) {
    throw new InvalidOptionError(
      'view',
      1,
      'it must be at least 2 where before is given, for that is the view one lower',
    );
  }
  const durations = resolveFleaseDurations(options);
  const listen = checkAddress('listen', options.listen ?? own);
  const secure = options.tls === undefined ? undefined : mutualTls(textsOf(options.tls));
  if (secure === undefined && options.insecure !== true && !isLoopback(listen.host)) {
    throw new InvalidOptionError(
      'listen',
      options.listen ?? own,
      'everybody who can connect there could take part; listen on 127.0.0.1, give tls (--ca, --cert, --key), or say insecure: true (--insecure) if the network keeps others away',
    );
  }
  const logger = options.logger ?? warnings;
  const runtime = nodeRuntime({
    onBackwards: (ms) =>
      logger.error('the monotonic clock went back; it stands still until it has caught up', { ms }),
  });
  let member: Flease | undefined;
  const receive: Flease['receive'] = (packet) => member?.receive(packet);
  const opening = Connections.open({ id, group, listen, secure, runtime, logger, receive });
  const connections = await opening.catch((error: unknown) => {
    throw error instanceof PortInUseError ? takenFrom(id, error) : error;
  });
  sayWhatIsNotTolerated(view.members.length, logger);
  connections.know(new Map([...(before ?? []), ...peers]), before !== undefined);
  const life = 1 + Number.parseInt(randomId(LIFE_BYTES), 16);
  member = new Flease({
    id,
    group,
    life,
    view,
    durations,
    runtime,
    logger,
    connections,
    atEndOfTurn,
  });
  return member;
}

/** One side without a certificate would be one that anybody could play. */
function checkTls(tls: SecureContextOptions): SecureContextOptions {
  checkOptionNames('tls.', tls, { ca: true, cert: true, key: true });
  for (const name of ['ca', 'cert', 'key'] as const) {
    if (tls[name] === undefined)
      throw new InvalidOptionError(`tls.${name}`, undefined, 'all three are needed');
  }
  return tls;
}

/** @throws {InvalidOptionError} under the name that the option has here */
function textsOf(tls: SecureContextOptions): SecureTexts {
  try {
    return secureTexts(checkTls(tls));
  } catch (error) {
    if (!(error instanceof InvalidOptionError) || error.option.startsWith('tls.')) throw error;
    throw new InvalidOptionError(`tls.${error.option}`, error.value, error.rule);
  }
}

/** Another port would do no good: the others would not dial it, and there would be two of one name. */
const takenFrom = (id: string, { host, port, cause }: PortInUseError): PortInUseError =>
  new PortInUseError(
    host,
    port,
    { cause },
    `another process may be ${id} already, and no two may be one member at a time: wait until it has ended, or give this one a name and an address of its own in peers, at every member`,
  );

/** Who has one member knows what it is; two look like one to spare. */
function sayWhatIsNotTolerated(members: number, logger: Logger): void {
  if (members === 1) logger.info('a group of one: when it is down, nobody can hold anything');
  if (members === 2)
    logger.warn('a group of two: when either is down, nobody can hold anything; three tolerate one');
}
