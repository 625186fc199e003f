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
import { PortInUseError } from '../../node/tcp/errors.ts';
import type { BeginOptions, ListenOptions } from '../../runtime/handle.ts';
import { unlessAborted } from '../../runtime/on-abort.ts';
import { waitWithin } from '../../runtime/wait-within.ts';
import { checkProtected, secureSocketsOf, TLS_ROW } from '../../node/mesh/tls-option.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { warnings } from '../../node/process/warnings.ts';
import { invalidOption } from '../../runtime/errors.ts';
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
import type { Packet } from '../core/messages.ts';
import { NAME_CHARACTERS_MAX } from '../core/view.ts';
import { FLEASE_DURATIONS, type FleaseDurations, resolveFleaseDurations } from '../core/options.ts';
import { checkView } from '../core/view.ts';
import { fleaseCodec, FLEASE_PROTOCOL } from '../wire/codec.ts';
import { firstLeaseWords } from '../core/wording.ts';
import { FleaseMember } from './flease-member.ts';
import { checkAddress, checkPeers, type Peers } from './peers-option.ts';

/** What `joinFlease` takes. */
export interface JoinFleaseOptions extends FleaseDurations, BeginOptions, ListenOptions {
  /** Which of the members this is, kept over restarts. Never two processes at a time under one name. */
  name: string;

  /** All members and where they listen, this one among them. The same everywhere. */
  peers: Peers;

  /** Cells of different names have nothing to say to each other. @default 'default' */
  cell?: string | undefined;

  /** Which version of the peers this is; one more with each change, so at least 2 with `peersBefore`. @default 1 */
  peersVersion?: number | undefined;

  /** The peers of the version before, for a member that is started while the peers change. @default none */
  peersBefore?: Peers | undefined;

  /** Where to listen, if not at the address that the others know, as `0.0.0.0:7500`. @default the own one in `peers` */
  listen?: string | undefined;

  /** What the others dial: no other address than the own one in `peers`, which must be the same everywhere. @default the own one in `peers` */
  advertise?: string | undefined;

  /**
   * A token (`lh1.…`) with the grant `server:flease/<cell>/<name>`: encrypts the messages between members, and a peer may be what its own token grants. Or files of
   * an own authority, `{ ca, cert, key }`, each a path or the text of such a file: every peer with a certificate of `ca` may be any member; `cert` must name the
   * address that the others dial. At every member.
   *
   * @default the token of the environment; without one plain TCP
   */
  tls?: BeginOptions['tls'];

  /**
   * Allows to listen elsewhere than on loopback without TLS: every process that can connect can take part. @default
   * false
   */
  insecure?: boolean | undefined;

  /** How long it may take until the member listens. @default no limit */
  timeoutMs?: number | undefined;

  /** Gives the beginning up; later closes the member. */
  signal?: AbortSignal | undefined;
}

/** @internal */
export const JOIN_FLEASE_OPTIONS: OptionTable<
  JoinFleaseOptions,
  'cell' | 'peersVersion' | 'insecure' | 'logger' | 'leaseMs'
> = {
  name: required(is.name(NAME_CHARACTERS_MAX)),
  peers: required(is.anything()),
  cell: or('default', is.name(NAME_CHARACTERS_MAX)),
  peersVersion: or(1, is.whole(1)),
  peersBefore: optional(is.anything()),
  listen: optional(is.anything(), 'its own address in `peers`'),
  advertise: optional(is.string, 'its own address in `peers`'),
  tls: TLS_ROW,
  insecure: or(false, is.flag),
  timeoutMs: optional(is.timeLimit, 'no limit'),
  signal: optional(is.signal),
  logger: or(warnings, is.logger, LOGGER_WORDS),
  ...FLEASE_DURATIONS,
};

/** So many random bytes make an incarnation, and every double can hold them. */
const INCARNATION_BYTES = 6;
/** A wait this short needs no explanation. */
const UNNOTICED_MS = 2_000;

/**
 * Resolves when the member listens; the member takes part after {@link FleaseMember.ready}. Members of one process in different cells may have one
 * address: they share the port.
 *
 * @throws {InvalidArgumentError} before anything has started
 * @throws {InUseError} `PORT_IN_USE` if another process listens there, or this process in the same cell
 * @throws {InvalidArgumentError} `SHARED_ADDRESS` if another cell of this process listens there with another `tls`
 * @throws {InvalidArgumentError} `ADDRESS_UNAVAILABLE` if this machine has no such address
 * @throws {UnavailableError} `TIMEOUT` when the time is over
 * @throws the signal's reason, if the signal aborts first
 */
export async function joinFlease(options: JoinFleaseOptions): Promise<FleaseMember> {
  const { timeoutMs, signal } = resolveOptions('', options, JOIN_FLEASE_OPTIONS);
  signal?.throwIfAborted();
  const joining = joinCell(options, 0);
  try {
    const limit = { timeoutMs, signal };
    const what = ['flease', 'the start of the member'] as const;
    const member = await waitWithin(nodeRuntime(), what, limit, (over) => unlessAborted(joining, over));
    member.closeOn(signal);
    return member;
  } catch (error) {
    // A port that is opened after the beginning was given up is closed again.
    joining.then(
      (member) => member.close(),
      () => {},
    );
    throw error;
  }
}

/**
 * The same for a member whose leaders make promises during their leases: a new holder waits `takeoverMs` for the end
 * of those promises. @internal
 */
export async function joinCell(options: JoinFleaseOptions, takeoverMs: number): Promise<FleaseMember> {
  const {
    name,
    cell,
    advertise,
    tls,
    insecure,
    logger,
    peersVersion: number,
  } = resolveOptions('', options, JOIN_FLEASE_OPTIONS);
  const peers = checkPeers('peers', options.peers);
  const before =
    options.peersBefore === undefined ? undefined : checkPeers('peersBefore', options.peersBefore);
  const own = peers.get(name);
  if (own === undefined) {
    throw invalidOption(
      'peers',
      [...peers.keys()].join(', '),
      `${name}, which is this member, must be among them`,
    );
  }
  const view = {
    number,
    members: [...peers.keys()],
    before: before && [...before.keys()],
  };
  checkView(view);
  if (before !== undefined && view.number === 1) {
    throw invalidOption(
      'peersVersion',
      1,
      'it must be at least 2 where peersBefore is given, for that is the version one lower',
    );
  }
  const durations = resolveFleaseDurations(options, takeoverMs);
  const listen = checkAddress('listen', options.listen ?? own);
  if (advertise !== undefined && advertise !== own)
    throw invalidOption('advertise', advertise, `it must be ${own}, as in peers: the others dial that`);
  const runtime = nodeRuntime({
    onBackwards: (ms) =>
      logger.error('the monotonic clock went back; it stands still until it has caught up', { ms }),
  });
  const secure = secureSocketsOf({ tls, insecure, logger }, runtime.wallMs());
  checkProtected('listen', options.listen ?? own, listen.host, secure, { insecure, logger });
  const incarnation = 1 + Number.parseInt(randomId(INCARNATION_BYTES), 16);
  let member: FleaseMember | undefined;
  const hear = inOwnName(logger, (packet) => member?.receive(packet));
  const opening = openMesh({
    ...{ codec: fleaseCodec, protocol: FLEASE_PROTOCOL, name, incarnation: String(incarnation), group: cell },
    module: 'flease',
    ...{ listen, secure, runtime, logger, receive: hear },
  });
  const mesh = await opening.catch((error: unknown) => {
    throw error instanceof PortInUseError ? takenFrom(name, error) : error;
  });
  sayWhatIsNotTolerated(view.members.length, logger);
  mesh.setPeers(new Map([...(before ?? []), ...peers]), before === undefined ? 'settled' : 'changing');
  member = new FleaseMember({
    name,
    cell,
    incarnation,
    view,
    durations,
    runtime,
    logger,
    mesh,
    atEndOfTurn,
  });
  if (options.logger === undefined) sayThatItRecovers(name, durations.recoveryMs);
  return member;
}

/**
 * A program with a logger of its own gets this line as information. The default logger prints only warnings, and a
 * program that waits for the first lease without a line seems to hang.
 */
function sayThatItRecovers(name: string, recoveryMs: number): void {
  if (recoveryMs > UNNOTICED_MS) warnings.warn(`member ${name} ${firstLeaseWords(recoveryMs)}`);
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
const takenFrom = (name: string, { host, port, cause }: PortInUseError): PortInUseError =>
  new PortInUseError(
    host,
    port,
    { cause },
    `another process may be ${name} already, and no two may be one member at a time: wait until it has ended, or give this one a name and an address of its own in peers, at every member`,
  );

/** The user of one member knows that nothing is tolerated; two members look like one to spare. */
function sayWhatIsNotTolerated(members: number, logger: Logger): void {
  if (members === 1) logger.info('a cell of one: while it is down, no lease can be held');
  if (members === 2)
    logger.warn('a cell of two: while either is down, no lease can be held; three tolerate one');
}
