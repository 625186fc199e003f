/**
 * Opens a look-up in a running process: `openLookup`, and the options.
 *
 * The promise resolves with a table and not before, so that no caller has to tell "nobody owns this key" from "nothing
 * is known yet". The pool decides how often to ask, since the Manager pushes only to look-ups that ask often enough;
 * so only the caller's own values (`insists`) override a Manager's.
 */

import { randomId } from '../../node/id.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { warnings } from '../../node/warnings.ts';
import type { Logger } from '../../runtime/logger.ts';
import { LONGEST_NAME } from '../wire/rules.ts';
import { resolveDurations } from '../options.ts';
import { MANAGERS_ROW, type ManagerAddresses, resolveAddresses } from './addresses.ts';
import { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import { dialManagers } from './dial-managers.ts';
import { enter, WITHIN_MS } from './entering.ts';
import * as is from '../../runtime/option-kinds.ts';
import {
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
  LOGGER_WORDS,
} from '../../runtime/option-table.ts';
import { type Loss, type LookupPosition, PoolLookup } from './pool-lookup.ts';

export interface OpenLookupOptions {
  /** Where the Managers are. @default LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, 127.0.0.1:7400 */
  managers?: ManagerAddresses | undefined;

  pool: string;

  /**
   * Up to where an earlier look-up's losses were dealt with ({@link Loss.position}): later losses are reported first.
   */
  resumeFrom?: LookupPosition | undefined;

  /** These keys lost their state: publish your data for them again. Called for every loss within a stated bound. */
  onLoss?: ((loss: Loss) => unknown) | undefined;

  /** The table is another than before. */
  onChange?: (() => unknown) | undefined;

  /** How often to sync although nothing was pushed, in milliseconds. @default as the pool is configured, 10_000 */
  syncEveryMs?: number | undefined;

  /** How long to go without a fresh answer before everything is reported as lost, in milliseconds. @default syncEveryMs * 3 */
  staleAfterMs?: number | undefined;

  /** How long to try before giving up. @default 30_000 */
  openWithinMs?: number | undefined;

  /** Gives up opening. */
  signal?: AbortSignal | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

/** @internal */
export const OPEN_LOOKUP_OPTIONS: OptionTable<OpenLookupOptions, 'openWithinMs' | 'logger'> = {
  managers: MANAGERS_ROW,
  pool: required(is.name(LONGEST_NAME)),
  resumeFrom: optional(is.anything(), 'none: nothing is reported at first'),
  onLoss: optional(is.callback()),
  onChange: optional(is.callback()),
  syncEveryMs: optional(is.timeLimit, 'as the Manager says, 10,000'),
  staleAfterMs: optional(is.timeLimit, '`syncEveryMs` × 3'),
  openWithinMs: or(WITHIN_MS, is.timeLimit),
  signal: optional(is.signal),
  logger: or(warnings, is.logger, LOGGER_WORDS),
};

/**
 * Resolves when there is a table to look into.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {ManagersUnreachableError} if none answers in time, with the result of each address
 * @throws {RefusedError} if there is no such pool
 * @throws {ManagersDisagreeError} if Managers of the list lead different logs
 */
export async function openLookup(options: OpenLookupOptions): Promise<PoolLookup> {
  const resolved = resolveOptions('', options, OPEN_LOOKUP_OPTIONS);
  const { pool, syncEveryMs, staleAfterMs, openWithinMs: withinMs, resumeFrom } = resolved;
  const { onLoss, onChange, signal, logger } = resolved;
  signal?.throwIfAborted();
  const durations = resolveDurations({ syncEveryMs, staleAfterMs });
  // The two go together: a caller with one of them has its own values for both.
  const isInsisting = syncEveryMs !== undefined || staleAfterMs !== undefined;
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the clock went back; everything is reported as lost', { ms }),
  });

  const startedAt = runtime.now();
  await using opening = new AsyncDisposableStack();
  const addresses = opening.use(await resolveAddresses(options.managers, runtime, logger));
  let lookup: PoolLookup | undefined;
  const onReachable = (): void => lookup?.reachable();
  const onUnreachable = (address: string): void => lookup?.unreachable(address);
  const dialer = opening.use(dialManagers({ role: 'lookup', runtime, logger, onReachable, onUnreachable }));
  lookup = new PoolLookup({
    ...{ pool, id: randomId(), addresses, durations, runtime, logger, dialer },
    insists: isInsisting ? { syncEveryMs: durations.syncEveryMs, staleAfterMs: durations.staleAfterMs } : {},
    ...{ resumeFrom, onLoss, onChange },
    close: () => owned[Symbol.asyncDispose](),
  });
  const owned = opening.move();
  return await enter(lookup, { runtime, logger, withinMs, startedAt, signal, addresses, dialer });
}
