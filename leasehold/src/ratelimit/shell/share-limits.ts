/**
 * Shares limits among processes, in a pool: `shareLimits`.
 *
 * A process listens first, because the address is part of the URL under which the pool knows this owner. Then the process joins the pool and
 * opens a look-up. All limits of a process use the same connections.
 */

import type { TlsOption } from '../../node/mesh/tls-files.ts';
import { mutualTlsOption } from '../../node/mesh/tls-option.ts';
import { randomId } from '../../node/id.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { formatAddress } from '../../node/tcp/address.ts';
import { isLoopback } from '../../node/tcp/binding.ts';
import { dialTcp } from '../../node/tcp/dial.ts';
import { UnreachableError } from '../../node/tcp/errors.ts';
import { listenTcp } from '../../node/tcp/listen.ts';
import { warnings } from '../../node/warnings.ts';
import type { ManagerAddresses } from '../../pool/shell/addresses.ts';
import { joinPool } from '../../pool/shell/join-pool.ts';
import { openLookup } from '../../pool/shell/open-lookup.ts';
import { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { nameOption } from '../../runtime/text-option.ts';
import type { Instant } from '../../runtime/time.ts';
import { answerCodec, askCodec, LIMIT_PROTOCOL, NAME_MAX } from '../wire/codec.ts';
import { AskingProcesses } from './asking-processes.ts';
import { LimitSharing } from './limit-sharing.ts';
import { LIMIT_SCHEME, PoolDirectory } from './pool-directory.ts';

export interface ShareLimitsOptions {
  /** Where the Managers are. @default LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, 127.0.0.1:7400 */
  managers?: ManagerAddresses | undefined;

  /** The pool whose owners share the limits. Use no pool that has other owners. @default 'ratelimit' */
  pool?: string | undefined;

  /** The name of this process, the same after a restart and unlike any other in the pool. */
  name: string;

  /** Where other processes ask this one for tokens. Elsewhere than on loopback it needs `tls` or `insecure`. @default '127.0.0.1' */
  host?: string | undefined;

  /** 0 for any that is free. @default 0 */
  port?: number | undefined;

  /** The host under which others reach this process, if `host` means another machine to them. @default host */
  advertise?: string | undefined;

  /** Encrypts the asks and answers, and lets only processes ask for which `ca` vouches. In every process, or in none. @default plain TCP */
  tls?: TlsOption | undefined;

  /** Allows to listen elsewhere than on loopback without TLS: everybody who can connect can take tokens. @default false */
  insecure?: boolean | undefined;

  /** How long to try to join before giving up, in milliseconds. @default 30_000 */
  joinWithinMs?: number | undefined;

  /** Gives up joining. */
  signal?: AbortSignal | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<ShareLimitsOptions> = {
  ...{ managers: true, pool: true, name: true, host: true, port: true, advertise: true },
  ...{ tls: true, insecure: true, joinWithinMs: true, signal: true, logger: true },
};

const EVERYWHERE = new Set(['0.0.0.0', '::']);
/** After a cut, TCP alone would take minutes to notice. */
const LIMITS = { heartbeatEveryMs: 1_000, silentAfterMs: 5_000, connections: 1_000 };

/** A peer that closes every connection is not dialled more often. */
const HURRY_EVERY_MS = 1_000;

/**
 * Resolves when this process is a member of the pool and knows the owners of all keys.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 * @throws {ManagersUnreachableError} if no Manager answers in time
 * @throws {RefusedError} if the Manager refuses this process
 */
export async function shareLimits(options: ShareLimitsOptions): Promise<LimitSharing> {
  checkOptionNames('', options, OPTIONS);
  const { managers, pool = 'ratelimit', host = '127.0.0.1', port = 0, joinWithinMs, signal } = options;
  const { logger = warnings } = options;
  const name = nameOption('name', options.name, NAME_MAX);
  const advertised = options.advertise ?? host;
  if (EVERYWHERE.has(advertised)) {
    const rule = 'it must name the host at which other processes reach this one';
    throw new InvalidOptionError('advertise', advertised, rule);
  }
  const secure = mutualTlsOption(options.tls);
  if (secure === undefined && options.insecure !== true && !isLoopback(host)) {
    throw new InvalidOptionError(
      'host',
      host,
      'everybody who can connect there could take tokens; listen on 127.0.0.1, give tls, or say insecure: true if the network keeps others away',
    );
  }
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the monotonic clock went back; it stands still meanwhile', { ms }),
  });
  const epoch = randomId();
  const process = `${name}#${epoch}`;
  await using opening = new AsyncDisposableStack();
  const asking = new AskingProcesses();
  let sharing: LimitSharing | undefined;
  let directory: PoolDirectory | undefined;
  const hurriedAt = new Map<string, Instant>();

  const listener = opening.use(
    await listenTcp({
      ...{ host, port, codec: answerCodec, protocol: LIMIT_PROTOCOL, runtime, logger, secure },
      limits: LIMITS,
      onPeer: ({ id, role }, state) => {
        if (state === 'disconnected') asking.disconnected(role, id);
      },
    }),
  );
  const dialer = opening.use(
    dialTcp({
      ...{
        codec: askCodec,
        protocol: LIMIT_PROTOCOL,
        role: process,
        runtime,
        logger,
        secure,
        limits: LIMITS,
      },
      onState: (at, state, why) => {
        if (state === 'connected') {
          sharing?.ownerBack(at);
        } else if (why instanceof UnreachableError) {
          hurriedAt.delete(at);
          sharing?.ownerGone(at);
        } else {
          sharing?.ownerLost(at);
          // Either the process is there, and the connection is back at once; or the connection is refused, and requests need not wait.
          const now = runtime.now();
          if (now < (hurriedAt.get(at) ?? Number.NEGATIVE_INFINITY) + HURRY_EVERY_MS) return;
          hurriedAt.set(at, now);
          dialer.hurry(at);
        }
      },
    }),
  );
  const address = formatAddress({ host: advertised, port: listener.port });
  const noteGrants = (): void => directory?.noteGrants(runtime.now());
  const joining = { managers, pool, logger, signal };
  const owner = opening.use(
    await joinPool({ ...joining, name, url: `${LIMIT_SCHEME}${address}`, joinWithinMs, onGrant: noteGrants }),
  );
  const onChange = (): void => sharing?.directoryChanged();
  const lookup = opening.use(await openLookup({ ...joining, openWithinMs: joinWithinMs, onChange }));
  directory = new PoolDirectory(owner, lookup);
  opening.defer(() => directory?.close());
  noteGrants();

  sharing = new LimitSharing({
    ...{ name, pool, address, epoch, directory, runtime, logger },
    sendAsk: (to, ask) => dialer.send(to, ask),
    sendAnswer: (to, answer) => listener.send(asking.connectionOf(to) ?? '', answer),
    close: () => owned[Symbol.asyncDispose](),
  });
  const started = sharing;
  listener.listen((connection, ask) => {
    const from = listener.peers.get(connection)?.role;
    if (from === undefined) return;
    asking.asked(from, connection);
    started.receiveAsk(from, ask);
  });
  dialer.listen((_, answer) => started.receiveAnswer(answer));
  const owned = opening.move();
  return started;
}
