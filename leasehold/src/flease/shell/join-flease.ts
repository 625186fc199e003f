/**
 * Joins a group from a running process: `joinFlease`, and the options.
 *
 * When this resolves, the member listens and has begun to connect to the others. The member is not ready yet. A
 * process without a disk cannot know the promises of an earlier start, so the member recovers until no such promise
 * can matter: a lease and twice the skew, each time. `acquire` waits for the end of recovery; `ready()` resolves at
 * that end.
 */

import { randomId } from '../../node/id.ts';
import { openMesh } from '../../node/mesh/mesh.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { formatAddress } from '../../node/tcp/address.ts';
import { isLoopback } from '../../node/tcp/binding.ts';
import { PortInUseError } from '../../node/tcp/errors.ts';
import type { TlsOption } from '../../node/mesh/tls-files.ts';
import { mutualTlsOption } from '../../node/mesh/tls-option.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { warnings } from '../../node/warnings.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import * as is from '../../runtime/option-kinds.ts';
import {
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
  LOGGER_WORDS,
} from '../../runtime/option-table.ts';
import { NAME_CHARACTERS_MAX, type Packet } from '../messages.ts';
import { FLEASE_DURATIONS, type FleaseDurations, resolveFleaseDurations } from '../options.ts';
import { checkView } from '../view.ts';
import { fleaseCodec, FLEASE_PROTOCOL } from '../wire/codec.ts';
import { firstLeaseWords } from '../wording.ts';
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
   * Encrypts the messages between members, and admits only peers with a certificate of `ca`. Each is a path, or the
   * text of such a file itself; `cert` must name the address that the others dial. All three, at every member.
   *
   * @default plain TCP
   */
  tls?: TlsOption | undefined;

  /**
   * Allows to listen elsewhere than on loopback without TLS: every process that can connect can take part. @default
   * false
   */
  insecure?: boolean | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

/** @internal */
export const JOIN_FLEASE_OPTIONS: OptionTable<
  JoinFleaseOptions,
  'group' | 'view' | 'insecure' | 'logger' | 'leaseMs'
> = {
  id: required(is.name(NAME_CHARACTERS_MAX)),
  peers: required(is.anything()),
  group: or('default', is.name(NAME_CHARACTERS_MAX)),
  view: or(1, is.whole(1)),
  before: optional(is.anything()),
  listen: optional(is.anything(), 'its own address in `peers`'),
  tls: optional(is.anything(), 'plain TCP'),
  insecure: or(false, is.flag),
  logger: or(warnings, is.logger, LOGGER_WORDS),
  ...FLEASE_DURATIONS,
};

/** So many random bytes make an incarnation, and every double can hold them. */
const INCARNATION_BYTES = 6;
/** A wait this short needs no explanation. */
const UNNOTICED_MS = 2_000;

/**
 * Resolves when the member listens; the member takes part after {@link Flease.ready}.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 */
export const joinFlease = (options: JoinFleaseOptions): Promise<Flease> => joinGroup(options, 0);

/**
 * The same for a member whose leaders make promises during their leases: a new holder waits `takeoverMs` for the end
 * of those promises. @internal
 */
export async function joinGroup(options: JoinFleaseOptions, takeoverMs: number): Promise<Flease> {
  const { id, group, insecure, logger, view: number } = resolveOptions('', options, JOIN_FLEASE_OPTIONS);
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
    number,
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
  const durations = resolveFleaseDurations(options, takeoverMs);
  const listen = checkAddress('listen', options.listen ?? own);
  const secure = mutualTlsOption(options.tls);
  if (secure === undefined && !insecure && !isLoopback(listen.host)) {
    throw new InvalidOptionError(
      'listen',
      options.listen ?? own,
      'everybody who can connect there could take part; listen on 127.0.0.1, give tls (--ca, --cert, --key), or say insecure: true (--insecure) if the network keeps others away',
    );
  }
  if (secure === undefined && !isLoopback(listen.host))
    logger.warn(NOT_PROTECTED, { listen: formatAddress(listen) });
  const runtime = nodeRuntime({
    onBackwards: (ms) =>
      logger.error('the monotonic clock went back; it stands still until it has caught up', { ms }),
  });
  const incarnation = 1 + Number.parseInt(randomId(INCARNATION_BYTES), 16);
  let member: Flease | undefined;
  const hear = inOwnName(logger, (packet) => member?.receive(packet));
  const opening = openMesh({
    ...{ codec: fleaseCodec, protocol: FLEASE_PROTOCOL, name: id, incarnation: String(incarnation), group },
    ...{ listen, secure, runtime, logger, receive: hear },
  });
  const mesh = await opening.catch((error: unknown) => {
    throw error instanceof PortInUseError ? takenFrom(id, error) : error;
  });
  sayWhatIsNotTolerated(view.members.length, logger);
  mesh.setPeers(new Map([...(before ?? []), ...peers]), before === undefined ? 'settled' : 'changing');
  member = new Flease({
    id,
    group,
    incarnation,
    view,
    durations,
    runtime,
    logger,
    mesh,
    atEndOfTurn,
  });
  if (options.logger === undefined) sayThatItRecovers(id, durations.recoveryMs);
  return member;
}

/**
 * A program with a logger of its own gets this line as information. The default logger prints only warnings, and a
 * program that waits for the first lease without a line seems to hang.
 */
function sayThatItRecovers(id: string, recoveryMs: number): void {
  if (recoveryMs > UNNOTICED_MS) warnings.warn(`member ${id} ${firstLeaseWords(recoveryMs)}`);
}

/** Ignores packets that name another sender than the handshake: otherwise any process that can connect could answer for all. */
function inOwnName(
  logger: Logger,
  receive: (packet: Packet) => void,
): (from: string, packet: Packet) => void {
  let hasWarned = false;
  return (from, packet) => {
    if (from === packet.from) {
      receive(packet);
      return;
    }
    if (hasWarned) return;
    hasWarned = true;
    logger.warn("a peer sends packets under another member's name; these packets are ignored", {
      peer: from,
      speaksAs: packet.from,
    });
  };
}

/** Another port would not help: the others would not dial that port, and two processes would have one name. */
const takenFrom = (id: string, { host, port, cause }: PortInUseError): PortInUseError =>
  new PortInUseError(
    host,
    port,
    { cause },
    `another process may be ${id} already, and no two may be one member at a time: wait until it has ended, or give this one a name and an address of its own in peers, at every member`,
  );

const NOT_PROTECTED =
  'this member listens beyond loopback without TLS: everybody who can connect can speak for any member, free leases and stop ' +
  'the group. Give tls (--ca, --cert, --key), or let the network keep others away';

/** The user of one member knows that nothing is tolerated; two members look like one to spare. */
function sayWhatIsNotTolerated(members: number, logger: Logger): void {
  if (members === 1) logger.info('a group of one: while it is down, no lease can be held');
  if (members === 2)
    logger.warn('a group of two: while either is down, no lease can be held; three tolerate one');
}
