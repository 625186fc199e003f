/**
 * Makes a limiter, from options that are checked together.
 */

import { nodeRuntime } from '../../node/runtime.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { textOption } from '../../runtime/text-option.ts';
import { LocalLimiter } from '../core/local-limiter.ts';
import { type RateOptions, resolveRate } from '../core/rate.ts';
import type { OnLoss } from '../owner/messages.ts';
import type { CutOffPolicy } from '../owner/when-cut-off.ts';
import { refuseSpreadOptions, spreadLimit, type SpreadOptions } from '../spread/shell/spread-options.ts';
import { NAME_MAX } from '../wire/codec.ts';
import { localDecider } from './decider.ts';
import type { LimitSharing } from './limit-sharing.ts';
import { Limiter } from './limiter.ts';

/** See `docs/ratelimit.md` for the bound of each. */
export type WhenCutOff = 'closed' | 'share' | { readonly open: number; readonly forMs: number };

export interface RateLimitOptions extends RateOptions, SpreadOptions {
  /** Names the limiter in headers, metrics and errors. Required for a shared limit. @default 'default' */
  name?: string | undefined;

  /** How many keys are remembered at once. A key is forgotten when it has all its tokens again. @default 1_000_000 */
  maxKeys?: number | undefined;

  /** What becomes of a request for a new key when `maxKeys` keys are in use. @default 'deny' */
  whenFull?: 'deny' | 'admit' | undefined;

  /** Shares the limit with all processes that share limits in the same pool; see `shareLimits`. @default this process alone */
  sharing?: LimitSharing | undefined;

  /**
   * How a new owner of a key begins: with all tokens, or with none. `empty` is for limits that must hold through every change of
   * owner; then a key may be denied for up to `burst / limit` after each. Only with `sharing`. @default 'full'
   */
  onLoss?: OnLoss | undefined;

  /** What is decided when the owner of a key does not answer. Only with `sharing`. @default 'closed' */
  whenCutOff?: WhenCutOff | undefined;

  /** How many processes share the limit at most. Required for `whenCutOff: 'share'` and, unless the group has a size, for `mode: 'spread'`. */
  size?: number | undefined;

  /** How long a request waits for the owner of its key, in milliseconds. Only with `sharing`. @default 80 */
  waitMs?: number | undefined;

  /** The clock to count by, for tests. Not with `sharing`. @default the monotonic clock of this process */
  runtime?: Pick<Runtime, 'now'> | undefined;
}

const NAMES: OptionNames<RateLimitOptions> = {
  ...{ name: true, limit: true, per: true, burst: true, maxKeys: true, whenFull: true, runtime: true },
  ...{ sharing: true, onLoss: true, whenCutOff: true, size: true, waitMs: true },
  ...{ mode: true, group: true, demand: true, epochMs: true },
};
const MAX_KEYS_DEFAULT = 1_000_000;
/** With the delays of a busy machine a request is then answered within 100 ms. */
const WAIT_MS_DEFAULT = 80;
const WAIT_MS_MAX = 10_000;
const ONLY_SHARED = ['onLoss', 'whenCutOff', 'size', 'waitMs'] as const;

/** @throws {InvalidOptionError} naming the first rule that is broken */
export function ratelimit(options: RateLimitOptions): Limiter {
  checkOptionNames('', options, NAMES);
  if (options.mode === 'spread') {
    const rate = resolveRate(options);
    const name = textOption('name', options.name ?? 'default', NAME_MAX);
    return new Limiter({ name, rate, decider: spreadLimit(options, name, rate) });
  }
  refuseSpreadOptions(options);
  const { maxKeys = MAX_KEYS_DEFAULT, whenFull = 'deny', sharing } = options;
  demand(
    'maxKeys',
    maxKeys,
    Number.isSafeInteger(maxKeys) && maxKeys >= 1,
    'it must be a whole number of at least 1',
  );
  demand('whenFull', whenFull, whenFull === 'deny' || whenFull === 'admit', "it must be 'deny' or 'admit'");
  const rate = resolveRate(options);
  const name = textOption('name', options.name ?? 'default', NAME_MAX);
  if (sharing === undefined) {
    for (const option of ONLY_SHARED) {
      demand(
        option,
        options[option],
        options[option] === undefined,
        'it is for shared limits: give sharing, too',
      );
    }
    const clock = options.runtime ?? nodeRuntime();
    return new Limiter({ name, rate, decider: localDecider(new LocalLimiter({ maxKeys, whenFull }), clock) });
  }
  demand(
    'name',
    options.name,
    options.name !== undefined,
    'a shared limit needs a name, the same in every process',
  );
  demand(
    'runtime',
    'given',
    options.runtime === undefined,
    'a shared limit counts by the clock of its sharing',
  );
  const isSharing = typeof Object(sharing).add === 'function';
  demand('sharing', typeof sharing, isSharing, 'it must be what shareLimits or shareLimitsInGroup returns');
  const { onLoss = 'full', waitMs = WAIT_MS_DEFAULT } = options;
  demand('onLoss', onLoss, onLoss === 'full' || onLoss === 'empty', "it must be 'full' or 'empty'");
  demand('waitMs', waitMs, waitMs >= 0 && waitMs <= WAIT_MS_MAX, `it must be from 0 to ${WAIT_MS_MAX}`);
  const whenCutOff = cutOffPolicy(options.whenCutOff ?? 'closed', options.size);
  const rule =
    'in a group a server that is cut off uses 1 / size of the limit as the only member of its own view';
  demand('whenCutOff', 'share', !(sharing.isOnGroup && whenCutOff.kind === 'share'), rule);
  const decider = sharing.add({ name, rate, onLoss, whenCutOff, waitMs, maxKeys, whenFull });
  return new Limiter({ name, rate, decider });
}

function cutOffPolicy(whenCutOff: WhenCutOff, size: number | undefined): CutOffPolicy {
  if (whenCutOff === 'share') {
    const isWhole = Number.isSafeInteger(size) && (size ?? 0) >= 1;
    demand('size', size, isWhole, "whenCutOff: 'share' needs the number of processes that share the limit");
    return { kind: 'share', size: size ?? 1 };
  }
  demand('size', size, size === undefined, "it is for whenCutOff: 'share'");
  if (whenCutOff === 'closed') return { kind: 'closed' };
  const { open, forMs } = Object(whenCutOff) as { readonly open: number; readonly forMs: number };
  const isOpen = Number.isFinite(open) && open > 0 && forMs > 0;
  const rule = "it must be 'closed', 'share', or { open, forMs } with two positive numbers";
  demand('whenCutOff', JSON.stringify(whenCutOff), isOpen, rule);
  return { kind: 'open', factor: open, forMs };
}

function demand(option: string, value: unknown, holds: boolean, rule: string): void {
  if (!holds) throw new InvalidOptionError(option, value, rule);
}
