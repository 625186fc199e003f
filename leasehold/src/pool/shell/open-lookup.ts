/**
 * Opens a look-up in a running process: `openLookup`, and what it can be told.
 */

import { randomId } from '../../node/id.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import { type Logger, silent } from '../../runtime/logger.ts';
import { LONGEST_NAME } from '../wire/rules.ts';
import { resolveDurations } from '../options.ts';
import { type ManagerAddresses, resolveAddresses } from './addresses.ts';
import { deadline } from './deadline.ts';
import { dialManagers } from './dial-managers.ts';
import { ManagersUnreachableError } from './errors.ts';
import { checkOptionNames, type OptionNames } from './option-names.ts';
import { type Loss, type LookupPosition, PoolLookup } from './pool-lookup.ts';
import { textOption } from './text-option.ts';

export interface OpenLookupOptions {
  /** Where the Managers are. @default LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, 127.0.0.1:7400 */
  managers?: ManagerAddresses | undefined;

  pool: string;

  /** Where an earlier look-up stopped ({@link PoolLookup.position}): what was lost since is reported first. */
  resumeFrom?: LookupPosition | undefined;

  /** These keys lost their state: publish again what you know of them. Called for every loss within a stated bound. */
  onLoss?: ((loss: Loss) => void) | undefined;

  /** The table is another than before. */
  onChange?: (() => void) | undefined;

  /** How often to sync although nothing was pushed, in milliseconds. @default as the pool is configured, 10_000 */
  syncEveryMs?: number | undefined;

  /** How long to go without a fresh answer before everything is reported as lost, in milliseconds. @default syncEveryMs * 3 */
  staleAfterMs?: number | undefined;

  /** How long to try before giving up. @default 30_000 */
  openWithinMs?: number | undefined;

  /** Gives up opening. */
  signal?: AbortSignal | undefined;

  /** @default nothing is logged */
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
  const withinMs = options.openWithinMs ?? 30_000;
  if (!(withinMs > 0))
    throw new InvalidOptionError('openWithinMs', withinMs, 'it must be a positive number of milliseconds');
  const { syncEveryMs, staleAfterMs } = options;
  const durations = resolveDurations({ syncEveryMs, staleAfterMs });
  const logger = options.logger ?? silent;
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the clock went back; everything is reported as lost', { ms }),
  });
  const addresses = await resolveAddresses(options.managers, runtime, logger);

  let lookup: PoolLookup | undefined;
  const dialer = dialManagers({ role: 'lookup', runtime, logger, onReachable: () => lookup?.reachable() });
  lookup = new PoolLookup({
    ...{ pool, id: randomId(), addresses, durations, runtime, logger, dialer },
    insists: {
      ...(syncEveryMs === undefined ? {} : { syncEveryMs }),
      ...(staleAfterMs === undefined ? {} : { staleAfterMs }),
    },
    resumeFrom: options.resumeFrom,
    onLoss: options.onLoss,
    onChange: options.onChange,
    close: async () => {
      addresses[Symbol.dispose]();
      await dialer[Symbol.asyncDispose]();
    },
  });
  const time = deadline(runtime, withinMs, options.signal);
  try {
    await lookup.opened(time.signal);
    return lookup;
  } catch (error) {
    await lookup.close();
    if (!time.isOver || options.signal?.aborted) throw error;
    throw lookup.refusal ?? new ManagersUnreachableError(addresses.current, withinMs, dialer.problems());
  } finally {
    time[Symbol.dispose]();
  }
}
