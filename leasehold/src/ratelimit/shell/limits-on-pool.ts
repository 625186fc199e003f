/**
 * Shares limits among processes, in a pool: `joinLimits`.
 *
 * A process listens first, because the address is part of the URL under which the pool knows this owner. Then the process joins the pool and
 * opens a look-up. All limits of a process use the same connections.
 */

import { closeOnAbort, type Tls } from '../../runtime/handle.ts';
import { checkOwnRole, refusalOfPeer, refusalOfServer } from '../../node/identity/gate.ts';
import { ALL } from '../../node/identity/grants.ts';
import type { Identity } from '../../node/identity/peer-identity.ts';
import { checkProtected, secureSocketsOf, TLS_ROW } from '../../node/mesh/tls-option.ts';
import { randomId } from '../../node/id.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { formatAddress, listenAddress } from '../../node/tcp/address.ts';
import { dialTcp } from '../../node/tcp/dial.ts';
import { UnreachableError } from '../../node/tcp/errors.ts';
import { listenTcp } from '../../node/tcp/listen.ts';
import { warnings } from '../../node/process/warnings.ts';
import { MANAGERS_ROW, type ManagerAddresses } from '../../pool/shell/addresses.ts';
import { TIMEOUT_MS } from '../../pool/shell/entering.ts';
import { joinPool } from '../../pool/shell/owner/join-pool.ts';
import { lookUp } from '../../pool/shell/lookup/connect-lookup.ts';
import { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import { invalidOption, type RefusedError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import * as is from '../../runtime/option-kinds.ts';
import {
  LOGGER_WORDS,
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
} from '../../runtime/option-table.ts';
import { type Instant, later } from '../../runtime/time.ts';
import { LONGEST_NAME } from '../../pool/wire/rules.ts';
import { NAME_MAX } from '../core/shared/messages.ts';
import { answerCodec, askCodec, LIMIT_PROTOCOL } from '../wire/codec.ts';
import { AskingProcesses } from './asking-processes.ts';
import { SharedLimits } from './shared-limits.ts';
import { LIMIT_SCHEME, PoolDirectory } from './pool-directory.ts';

/** What `joinLimits` takes for the processes of a pool. */
export interface JoinLimitsOnPoolOptions {
  /** Where the Managers are. @default LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, 127.0.0.1:7400 */
  managers?: ManagerAddresses | undefined;

  /** The pool whose owners share the limits. Use no pool that has other owners. @default 'ratelimit' */
  pool?: string | undefined;

  /** The name of this process, the same after a restart and unlike any other in the pool. */
  name: string;

  /**
   * Where other processes ask this one for tokens, as `host:port`; port 0 for any that is free. Elsewhere than on loopback it needs `tls` or `insecure`.
   *
   * @default '127.0.0.1:0'
   */
  listen?: string | undefined;

  /** The address that other processes dial, as `host:port`. Required if `listen` is every address of the machine. @default where this process listens */
  advertise?: string | undefined;

  /**
   * A token (`lh1.…`) with the grant `owner:pool/<pool>/<name>`, or `{ file }` with such a token; or files of an own authority, `{ ca, cert, key }`. Encrypts the asks and
   * answers, and the way to the Managers. In every process, or in none.
   *
   * @default the token of the environment; without one plain TCP
   */
  tls?: Tls | undefined;

  /** Allows to listen elsewhere than on loopback without TLS: everybody who can connect can take tokens. @default false */
  insecure?: boolean | undefined;

  /** How long to try to join before giving up, in milliseconds. @default 30_000 */
  timeoutMs?: number | undefined;

  /** Gives up joining; once joined, closes the limits. */
  signal?: AbortSignal | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

/** @internal */
export const JOIN_LIMITS_ON_POOL_OPTIONS: OptionTable<
  JoinLimitsOnPoolOptions,
  'pool' | 'listen' | 'insecure' | 'timeoutMs' | 'logger'
> = {
  managers: MANAGERS_ROW,
  pool: or('ratelimit', is.name(LONGEST_NAME)),
  name: required(is.name(NAME_MAX)),
  listen: or('127.0.0.1:0', is.string),
  advertise: optional(is.string, 'where this process listens'),
  tls: TLS_ROW,
  insecure: or(false, is.flag),
  timeoutMs: or(TIMEOUT_MS, is.timeLimit),
  signal: optional(is.signal),
  logger: or(warnings, is.logger, LOGGER_WORDS),
};

const EVERYWHERE = new Set(['0.0.0.0', '::']);
/** After a cut, TCP alone would take minutes to notice. */
const LIMITS = { heartbeatEveryMs: 1_000, silentAfterMs: 5_000, connections: 1_000 };

/** `web-1#epoch` is a process of the owner web-1, whose name may have a `#` too. */
const nameOfProcess = (role: string): string => role.slice(0, Math.max(0, role.lastIndexOf('#')));

/** A peer that closes every connection is not dialled more often. */
const HURRY_EVERY_MS = 1_000;

/** @throws {InvalidArgumentError} unless other processes can dial it */
function advertisedBy(advertise: string | undefined, host: string): string | undefined {
  if (advertise === undefined && !EVERYWHERE.has(host)) return undefined;
  const address = advertise === undefined ? undefined : listenAddress('advertise', advertise);
  if (address !== undefined && address.port > 0 && !EVERYWHERE.has(address.host)) return advertise;
  throw invalidOption('advertise', advertise, 'it must be host:port, where other processes reach this one');
}

/** Resolves when this process is a member of the pool and knows the owners of all keys. */
export async function joinLimitsOnPool(options: JoinLimitsOnPoolOptions): Promise<SharedLimits> {
  const given = resolveOptions('', options, JOIN_LIMITS_ON_POOL_OPTIONS);
  const { managers, pool, name, tls, insecure, timeoutMs, signal, logger } = given;
  const { host, port } = listenAddress('listen', given.listen);
  const advertised = advertisedBy(given.advertise, host);
  signal?.throwIfAborted();
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the monotonic clock went back; it stands still meanwhile', { ms }),
  });
  const secure = secureSocketsOf({ tls, insecure, logger }, runtime.wallMs());
  const gate = { module: 'pool', group: pool } as const;
  if (secure !== undefined) checkOwnRole(gate, 'owner', name, secure.own);
  checkProtected('listen', given.listen, host, secure, { insecure, logger });
  const epoch = randomId();
  const process = `${name}#${epoch}`;
  await using opening = new AsyncDisposableStack();
  const asking = new AskingProcesses();
  let limits: SharedLimits | undefined;
  let directory: PoolDirectory | undefined;
  let closing: Disposable | undefined;
  const hurriedAt = new Map<string, Instant>();

  const listener = opening.use(
    await listenTcp({
      ...{ host, port, codec: answerCodec, protocol: LIMIT_PROTOCOL, runtime, logger, secure },
      limits: LIMITS,
      refuses: ({ role }, identity) => refusalOfPeer(gate, 'owner', nameOfProcess(role), identity),
      onPeer: ({ id, role }, state) => {
        if (state === 'disconnected') asking.disconnected(role, id);
      },
    }),
  );
  /** Why the process at an address is none that owns keys there by the table; undefined if it is. The table may change while a connection stands. */
  const refusalOfOwner = (at: string, identity: Identity): RefusedError | undefined => {
    const refusals = [...(directory?.namesAt(at) ?? [])].map((owner) =>
      refusalOfServer(gate, owner, at, identity, 'owner'),
    );
    if (refusals.includes(undefined)) return undefined;
    return refusals[0] ?? refusalOfServer(gate, ALL, at, identity, 'owner');
  };
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
      expects: refusalOfOwner,
      onState: (at, state, why) => {
        if (state === 'connected') {
          limits?.ownerBack(at);
        } else if (why instanceof UnreachableError) {
          hurriedAt.delete(at);
          limits?.ownerGone(at);
        } else {
          limits?.ownerLost(at);
          // Either the process is there, and the connection is back at once; or the connection is refused, and requests need not wait.
          const now = runtime.now();
          if (now < (hurriedAt.get(at) ?? Number.NEGATIVE_INFINITY) + HURRY_EVERY_MS) return;
          hurriedAt.set(at, now);
          dialer.hurry(at);
        }
      },
    }),
  );
  const address = advertised ?? formatAddress({ host, port: listener.port });
  const noteGrants = (): void => directory?.noteGrants(runtime.now());
  // Once joined, the signal closes the limits, and these close owner and look-up in their order.
  const giving = new AbortController();
  using _ = onAbort(signal, () => giving.abort(signal?.reason));
  const overAt = later(runtime.now(), timeoutMs);
  const joining = { managers, pool, tls, logger, signal: giving.signal };
  const owner = opening.use(
    await joinPool({
      ...joining,
      name,
      url: `${LIMIT_SCHEME}${address}`,
      timeoutMs,
      onGrant: noteGrants,
    }),
  );
  const onTable = (): void => limits?.directoryChanged();
  const lookup = opening.use(
    await lookUp({ ...joining, timeoutMs: Math.max(1, overAt - runtime.now()) }, onTable),
  );
  directory = new PoolDirectory(owner, lookup);
  opening.defer(() => directory?.close());
  noteGrants();

  limits = new SharedLimits({
    ...{ name, instance: pool, address, epoch, directory, runtime, logger },
    sendAsk: (to, ask) => {
      const identity = dialer.identity(to);
      if (identity === undefined || refusalOfOwner(to, identity) === undefined) dialer.send(to, ask);
    },
    sendAnswer: (to, answer) => listener.send(asking.connectionOf(to) ?? '', answer),
    release: () => owner.close(),
    close: () => {
      closing?.[Symbol.dispose]();
      return owned[Symbol.asyncDispose]();
    },
  });
  const started = limits;
  listener.listen((connection, ask) => {
    const from = listener.peers.get(connection)?.role;
    if (from === undefined) return;
    asking.asked(from, connection);
    if (ask.kind === 'hand-over') started.receiveHandOver(from, ask);
    else started.receiveAsk(from, ask);
  });
  dialer.listen((_, answer) => started.receiveAnswer(answer));
  const owned = opening.move();
  closing = closeOnAbort(signal, started, (why) => logger.error('closing failed', { why: String(why) }));
  return started;
}
