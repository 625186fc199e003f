/**
 * Connects a look-up in a running process: `connectLookup`, and the options.
 *
 * The promise resolves with a table and not before, so that no caller has to tell "nobody owns this key" from "nothing
 * is known yet". The pool decides how often to ask, since the Manager pushes only to look-ups that ask often enough;
 * so only the caller's own values (`insists`) override a Manager's.
 */

import { randomId } from '../../../node/id.ts';
import { checkOwnRole } from '../../../node/identity/gate.ts';
import { ANY } from '../../../node/identity/grants.ts';
import { secureSocketsOf, TLS_ROW } from '../../../node/mesh/tls-option.ts';
import { nodeRuntime } from '../../../node/runtime.ts';
import { invalidOption } from '../../../runtime/errors.ts';
import { closeOnAbort, type Tls } from '../../../runtime/handle.ts';
import { warnings } from '../../../node/process/warnings.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { LONGEST_NAME } from '../../wire/rules.ts';
import { resolveDurations } from '../../core/options.ts';
import { MANAGERS_ROW, type ManagerAddresses, resolveAddresses } from '../addresses.ts';
import { AsyncDisposableStack } from '../../../runtime/async-disposable-stack.ts';
import { dialManagers } from '../dial-managers.ts';
import { enter, TIMEOUT_MS } from '../entering.ts';
import * as is from '../../../runtime/option-kinds.ts';
import {
  type Kind,
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
  LOGGER_WORDS,
} from '../../../runtime/option-table.ts';
import type { LogPosition } from '../status.ts';
import { type Loss, PoolLookup } from './pool-lookup.ts';

/** What `connectLookup` takes. */
export interface ConnectLookupOptions {
  /** Where the Managers are. @default LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, 127.0.0.1:7400 */
  managers?: ManagerAddresses | undefined;

  pool: string;

  /**
   * Up to where an earlier look-up's losses were dealt with ({@link Loss.position}): later losses are reported first.
   */
  resumeFrom?: LogPosition | undefined;

  /** These keys lost their state: publish your data for them again. Called for every loss within a stated bound. */
  onLoss?: ((loss: Loss) => unknown) | undefined;

  /** How often to sync although nothing was pushed, in milliseconds. @default as the pool is configured, 10_000 */
  syncEveryMs?: number | undefined;

  /** How long to go without a fresh answer before everything is reported as lost, in milliseconds. @default syncEveryMs * 3 */
  staleAfterMs?: number | undefined;

  /** As at the owners; the grant is `reader:pool/<pool>`. @default the token of the environment; without one plain TCP */
  tls?: Tls | undefined;

  /** How long to try before giving up. @default 30_000 */
  timeoutMs?: number | undefined;

  /** Gives up connecting; once connected, closes the look-up. */
  signal?: AbortSignal | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

/** A position that went through JSON or a database and lost its number would hide every loss, so anything else is refused. */
const PLACE_IN_A_LOG: Kind<LogPosition> = {
  rule: '',
  check: (option, value) => {
    const { history, position } = Object(value) as Partial<LogPosition>;
    if (
      typeof history === 'string' &&
      history !== '' &&
      Number.isSafeInteger(position) &&
      Number(position) >= 0
    )
      return { history, position: Number(position) };
    const rule =
      'it must be { history, position } as status(), watch() or a loss told it, with a whole number';
    throw invalidOption(option, value, rule);
  },
};

/** @internal */
export const CONNECT_LOOKUP_OPTIONS: OptionTable<ConnectLookupOptions, 'timeoutMs' | 'logger'> = {
  managers: MANAGERS_ROW,
  pool: required(is.name(LONGEST_NAME)),
  resumeFrom: optional(PLACE_IN_A_LOG, 'none: nothing is reported at first'),
  onLoss: optional(is.callback()),
  syncEveryMs: optional(is.timeLimit, 'as the Manager says, 10,000'),
  staleAfterMs: optional(is.timeLimit, '`syncEveryMs` × 3'),
  tls: TLS_ROW,
  timeoutMs: or(TIMEOUT_MS, is.timeLimit),
  signal: optional(is.signal),
  logger: or(warnings, is.logger, LOGGER_WORDS),
};

/**
 * Resolves when there is a table to look into.
 *
 * @throws {InvalidArgumentError} before anything has started
 * @throws {UnavailableError} MANAGERS_UNREACHABLE if none answers in time, with the result of each address
 * @throws {RefusedError} if there is no such pool; NOT_ALLOWED if the own token does not grant to read it
 * @throws {RefusedError} MANAGERS_DISAGREE if Managers of the list lead different logs
 */
export const connectLookup = (options: ConnectLookupOptions): Promise<PoolLookup> => lookUp(options);

/**
 * With a function that is told of a changed table within the turn. Shared limits decide by the table, so they cannot
 * wait for the turn of an iteration.
 *
 * @internal
 */
export async function lookUp(options: ConnectLookupOptions, onTable?: () => void): Promise<PoolLookup> {
  const resolved = resolveOptions('', options, CONNECT_LOOKUP_OPTIONS);
  const { pool, syncEveryMs, staleAfterMs, timeoutMs, resumeFrom } = resolved;
  const { onLoss, signal, logger } = resolved;
  signal?.throwIfAborted();
  const durations = resolveDurations({ syncEveryMs, staleAfterMs });
  // The two go together: a caller with one of them has its own values for both.
  const isInsisting = syncEveryMs !== undefined || staleAfterMs !== undefined;
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the clock went back; everything is reported as lost', { ms }),
  });

  const secure = secureSocketsOf(resolved, runtime.wallMs());
  if (secure !== undefined) checkOwnRole({ module: 'pool', group: pool }, 'reader', ANY, secure.own);
  const startedAt = runtime.now();
  await using opening = new AsyncDisposableStack();
  const addresses = opening.use(await resolveAddresses(options.managers, runtime, logger));
  let lookup: PoolLookup | undefined;
  let closing: Disposable | undefined;
  const onReachable = (): void => lookup?.reachable();
  const onUnreachable = (address: string): void => lookup?.unreachable(address);
  const dialer = opening.use(
    dialManagers({
      ...{ role: 'lookup', pool, addresses, secure, runtime, logger },
      ...{ onReachable, onUnreachable },
    }),
  );
  lookup = new PoolLookup({
    ...{ pool, id: randomId(), addresses, durations, runtime, logger, dialer },
    insists: isInsisting ? { syncEveryMs: durations.syncEveryMs, staleAfterMs: durations.staleAfterMs } : {},
    ...{ resumeFrom, onLoss, onTable },
    close: async () => {
      closing?.[Symbol.dispose]();
      await owned[Symbol.asyncDispose]();
    },
  });
  const owned = opening.move();
  const entered = await enter(lookup, { runtime, logger, timeoutMs, startedAt, signal, addresses, dialer });
  closing = closeOnAbort(signal, entered, (why) => logger.error('closing failed', { why: String(why) }));
  return entered;
}
