/**
 * Joins a pool from a running process: `joinPool`, and the options.
 *
 * The order matters. The proof of death comes before the first report, because a report without a proof could be
 * answered with leases that nobody can free early. With the first answer the deaths of predecessors are told, so that
 * their keys can be granted to us at once. The resources opened by then belong to the owner as soon as there is one,
 * and are closed after leaving; if there never is an owner, they are closed here.
 */

import { checkOwnRole } from '../../../node/identity/gate.ts';
import { secureSocketsOf, TLS_ROW } from '../../../node/mesh/tls-option.ts';
import { nodeRuntime } from '../../../node/runtime.ts';
import { newSigner } from '../../../node/signer.ts';
import type { Welcome } from '../../../node/tcp/handshake.ts';
import { closeOnAbort, type Tls } from '../../../runtime/handle.ts';
import { warnings } from '../../../node/process/warnings.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import { LONGEST_NAME, LONGEST_URL } from '../../wire/rules.ts';
import { prove } from '../../core/incarnation.ts';
import type { Prove } from '../../core/messages.ts';
import { resolveDurations } from '../../core/options.ts';
import { MANAGERS_ROW, type ManagerAddresses, resolveAddresses } from '../addresses.ts';
import { AsyncDisposableStack } from '../../../runtime/async-disposable-stack.ts';
import { dialManagers } from '../dial-managers.ts';
import { enter, TIMEOUT_MS } from '../entering.ts';
import * as is from '../../../runtime/option-kinds.ts';
import {
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
  LOGGER_WORDS,
} from '../../../runtime/option-table.ts';
import type { DepartUpcall } from '../moves/moving-keys.ts';
import { checkPairs, type MovesOptions, resolveMoves } from '../moves/moves-options.ts';
import type { KeyCarrier } from '../moves/key-carrier.ts';
import type { MoveCarrierOptions } from '../moves/open-move-carrier.ts';
import { secureMoves } from '../moves/secure-moves.ts';
import { placeOfMoves } from '../moves/place-of-moves.ts';
import { PoolOwner } from './pool-owner.ts';
import { LOCK_WAIT_MS } from '../supervision/locked-proof.ts';
import { proveDeath } from '../supervision/prove-death.ts';
import type { Upcall } from './upcalls.ts';

/** What `joinPool` takes. */
export interface JoinPoolOptions {
  /** Where the Managers are. @default LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, 127.0.0.1:7400 */
  managers?: ManagerAddresses | undefined;

  /**
   * The pool to join. The pool begins to exist with the first owner that joins, unless the Manager wants pools
   * declared.
   */
  pool: string;

  /** Stays the same after a restart, and decides where this owner's keys lie. Unlike any other's in the pool. */
  name: string;

  /** The address that look-ups hand to callers. Unlike any other's in the pool. */
  url: string;

  /** Load the state of these keys; the keys are served once the function resolves. Called again after a failure. */
  onGrant?: Upcall | undefined;

  /**
   * These keys are to be given back: new work is refused already, running work may finish. Flush while the keys are
   * still held; they are released when the function resolves, or after a third of the lease.
   */
  onRevoke?: Upcall | undefined;

  /** These keys are no longer ours: forget their state. After `onRevoke`, or alone if the lease expired. */
  onLost?: ((ranges: RangeSet) => unknown) | undefined;

  /**
   * Hand keys over with their state, and take over keys of other owners. Everything that this process keeps by key must then be
   * movable: a `leasedMap` with a name, a `movable`, or a store that `onDepart` flushes and `onArrive` reads.
   *
   * @default false: each change of owner is a loss that callers are told of
   */
  moves?: boolean | MovesOptions | undefined;

  /** These keys have arrived with their state; they are served once the function resolves. Called again after a failure. Required beside `onGrant`, with `moves`. */
  onArrive?: Upcall | undefined;

  /**
   * These keys are about to move: flush what the next owner will read from a store. Called while the keys are still served, and again in the
   * stop (`isStopped`, no guarded work is under way) for what has changed since: that call is a part of `stopTimeoutMs`. The keys may
   * stay all the same. If it fails or is late, they do not move. Required beside `onRevoke`, with `moves`.
   */
  onDepart?: DepartUpcall | undefined;

  /**
   * Where other owners bring state, as `host:port`.
   *
   * @default loopback, any free port, if every Manager is there; otherwise nowhere, and a warning says that keys cannot move
   */
  listen?: string | undefined;

  /** Where other owners can reach this one, as `host:port`. @default the listening address */
  advertise?: string | undefined;

  /** Allows to listen elsewhere than on loopback without TLS, where every process that may join may be sent state. @default false */
  insecure?: boolean | undefined;

  /**
   * Asked at every renewal: requests per second, or another figure that the Manager's policy understands. @default 0
   */
  load?: (() => number) | undefined;

  /**
   * A file to lock for as long as this process lives. The next process that locks the file under the same name proves
   * that this process is dead, and need not wait for the lease. On a local file system only.
   */
  lockFile?: string | undefined;

  /**
   * A token (`lh1.…`) with the grant `owner:pool/<pool>/<name>`, or `{ file }` with such a token; or files of an own authority, `{ ca, cert, key }`. At every process of
   * the pool, and at its Managers.
   *
   * @default the token of the environment; without one plain TCP
   */
  tls?: Tls | undefined;

  /** How long to try before giving up. @default 30_000 */
  timeoutMs?: number | undefined;

  /** Gives up joining; once joined, closes the owner. */
  signal?: AbortSignal | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

/** @internal */
export const JOIN_POOL_OPTIONS: OptionTable<JoinPoolOptions, 'insecure' | 'timeoutMs' | 'logger'> = {
  managers: MANAGERS_ROW,
  pool: required(is.name(LONGEST_NAME)),
  name: required(is.name(LONGEST_NAME)),
  url: required(is.name(LONGEST_URL)),
  onGrant: optional(is.callback(), 'none: served at once'),
  onRevoke: optional(is.callback()),
  onLost: optional(is.callback()),
  moves: optional(is.anything(), 'false: each change of owner is a loss'),
  onArrive: optional(is.callback(), 'none: served at once'),
  onDepart: optional(is.callback()),
  listen: optional(is.string, 'loopback, any free port, if every Manager is there; otherwise nowhere'),
  advertise: optional(is.string, 'the listening address'),
  insecure: or(false, is.flag),
  load: optional(is.callback(), '0'),
  lockFile: optional(is.string),
  tls: TLS_ROW,
  timeoutMs: or(TIMEOUT_MS, is.timeLimit),
  signal: optional(is.signal),
  logger: or(warnings, is.logger, LOGGER_WORDS),
};

/** What carries state is much code, so it is loaded by owners that move keys alone. */
async function loadMoveCarrier(options: Omit<MoveCarrierOptions, 'defaultCodec'>): Promise<KeyCarrier> {
  const [{ openMoveCarrier }, { structuredCodec }] = await Promise.all([
    import('../moves/open-move-carrier.ts'),
    import('../state/structured-codec.ts'),
  ]);
  return await openMoveCarrier({ ...options, defaultCodec: structuredCodec });
}

/**
 * Resolves when the Manager has admitted this owner; keys follow.
 *
 * @throws {InvalidArgumentError} before anything has started
 * @throws {UnavailableError} MANAGERS_UNREACHABLE if none answers in time, with the result of each address
 * @throws {RefusedError} if the Manager refuses; NOT_ALLOWED if the own token does not grant this name
 * @throws {RefusedError} MANAGERS_DISAGREE if Managers of the list lead different logs
 * @throws {InUseError} LOCKED if the process that has `lockFile` still lives
 * @throws {InvalidArgumentError} UNFIT_LOCK_FILE if a lock on that file would prove nothing
 * @throws {RefusedError} UNSUPPORTED_PLATFORM where there is no lock that ends with the process
 * @throws {StorageError} if that file cannot be opened or written
 */
export async function joinPool(options: JoinPoolOptions): Promise<PoolOwner> {
  const resolved = resolveOptions('', options, JOIN_POOL_OPTIONS);
  const { pool, name, url, lockFile, timeoutMs, signal, logger } = resolved;
  const rules = resolveMoves(options.moves);
  if (rules !== undefined) checkPairs(options);
  signal?.throwIfAborted();
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the clock went back; what is held is dropped and taken anew', { ms }),
  });

  const secure = secureSocketsOf(resolved, runtime.wallMs());
  if (secure !== undefined) checkOwnRole({ module: 'pool', group: pool }, 'owner', name, secure.own);
  const startedAt = runtime.now();
  await using opening = new AsyncDisposableStack();
  const addresses = opening.use(await resolveAddresses(options.managers, runtime, logger));
  const waitMs = Math.min(timeoutMs, LOCK_WAIT_MS);
  const death = opening.use(
    await proveDeath({ lockFile, addresses, secure, runtime, logger, waitMs, signal }),
  );
  let owner: PoolOwner | undefined;
  let closing: Disposable | undefined;
  const onReachable = (): void => owner?.reachable();
  const onUnreachable = (address: string): void => owner?.unreachable(address);
  const signer = newSigner();
  const preface = ({ channel }: Welcome): Prove[] => [prove(signer, pool, channel)];
  const dialer = opening.use(
    dialManagers({
      ...{ role: 'owner', pool, addresses, secure, preface, runtime, logger },
      ...{ onReachable, onUnreachable },
    }),
  );
  const place = placeOfMoves(rules !== undefined, resolved, addresses.current, secure, logger);
  const carrier =
    rules &&
    place &&
    opening.use(
      await loadMoveCarrier({
        ...{ pool, signer, ...place, secure: secureMoves(pool, secure), runtime, logger },
        ...{ bytesPerSecond: rules.bytesPerSecond, stallTimeoutMs: rules.stallTimeoutMs },
        say: (input) => owner?.hearMove(input),
      }),
    );
  owner = new PoolOwner({
    identity: { pool, name, url, incarnation: signer.incarnation, proof: death.proof },
    ...{ addresses, durations: resolveDurations(), runtime, logger, dialer },
    application: options,
    moving: rules && { rules, carrier },
    close: async (hasLeft) => {
      closing?.[Symbol.dispose]();
      if (hasLeft) death.left();
      await owned[Symbol.asyncDispose]();
    },
  });
  dialer.listen((_, { kind }) => {
    if (kind === 'update' || kind === 'refused') death.tellOfPredecessors();
  });
  const owned = opening.move();
  const entered = await enter(owner, { runtime, logger, timeoutMs, startedAt, signal, addresses, dialer });
  closing = closeOnAbort(signal, entered, (why) => logger.error('closing failed', { why: String(why) }));
  return entered;
}
