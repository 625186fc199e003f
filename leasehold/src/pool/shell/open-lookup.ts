/**
 * Opens a look-up in a running process: `openLookup`, and what it can be told.
 *
 * It resolves with a table and not before, so that nobody has to tell "nobody owns this key" from "nothing
 * is known yet". How often to ask is the pool's to say, since the Manager pushes only to those it hears
 * often enough; so only what the caller names itself (`insists`) overrides what a Manager says.
 */

import { randomId } from '../../node/id.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { warnings } from '../../node/warnings.ts';
import type { Logger } from '../../runtime/logger.ts';
import { LONGEST_NAME } from '../wire/rules.ts';
import { resolveDurations } from '../options.ts';
import { type ManagerAddresses, resolveAddresses } from './addresses.ts';
import { Closing } from '../../runtime/closing.ts';
import { dialManagers } from './dial-managers.ts';
import { enter, withinOption } from './entering.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { type Loss, type LookupPosition, PoolLookup } from './pool-lookup.ts';
import { textOption } from '../../runtime/text-option.ts';

export interface OpenLookupOptions {
  /** Where the Managers are. @default LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, 127.0.0.1:7400 */
  managers?: ManagerAddresses | undefined;

  pool: string;

  /** Where an earlier look-up stopped ({@link PoolLookup.position}): what was lost since is reported first. */
  resumeFrom?: LookupPosition | undefined;

  /** These keys lost their state: publish again what you know of them. Called for every loss within a stated bound. */
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

const OPTIONS: OptionNames<OpenLookupOptions> = {
  ...{ managers: true, pool: true, resumeFrom: true, onLoss: true, onChange: true, syncEveryMs: true },
  ...{ staleAfterMs: true, openWithinMs: true, signal: true, logger: true },
};

/**
 * Resolves when there is a table to look into.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {ManagersUnreachableError} if none answers in time; it says what each address did
 * @throws {RefusedError} if there is no such pool
 */
export async function openLookup(options: OpenLookupOptions): Promise<PoolLookup> {
  checkOptionNames('', options, OPTIONS);
  const pool = textOption('pool', options.pool, LONGEST_NAME);
  const withinMs = withinOption('openWithinMs', options.openWithinMs);
  const { syncEveryMs, staleAfterMs, resumeFrom, onLoss, onChange, signal, logger = warnings } = options;
  signal?.throwIfAborted();
  const durations = resolveDurations({ syncEveryMs, staleAfterMs });
  // The two go together: who wants one of them otherwise has its own for both.
  const isInsisting = syncEveryMs !== undefined || staleAfterMs !== undefined;
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the clock went back; everything is reported as lost', { ms }),
  });

  const startedAt = runtime.now();
  await using opening = new Closing();
  const addresses = opening.use(await resolveAddresses(options.managers, runtime, logger));
  let lookup: PoolLookup | undefined;
  const onReachable = (): void => lookup?.reachable();
  const dialer = opening.use(dialManagers({ role: 'lookup', runtime, logger, onReachable }));
  lookup = new PoolLookup({
    ...{ pool, id: randomId(), addresses, durations, runtime, logger, dialer },
    insists: isInsisting ? { syncEveryMs: durations.syncEveryMs, staleAfterMs: durations.staleAfterMs } : {},
    ...{ resumeFrom, onLoss, onChange },
    close: () => owned[Symbol.asyncDispose](),
  });
  const owned = opening.move();
  return await enter(lookup, { runtime, logger, withinMs, startedAt, signal, addresses, dialer });
}
