/**
 * Makes a limiter, from options that are checked together.
 */

import { nodeRuntime } from '../../node/runtime.ts';
import { invalidOption } from '../../runtime/errors.ts';
import * as is from '../../runtime/option-kinds.ts';
import {
  numberWords,
  type OptionTable,
  optional,
  or,
  type ResolvedOptions,
  required,
  resolveOptions,
} from '../../runtime/option-table.ts';
import type { GroupMember } from '../../membership/shell/group-member.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { LocalLimiter } from '../core/local/local-limiter.ts';
import { type Rate, type RateOptions, resolveRate } from '../core/local/rate.ts';
import { NAME_MAX, type WhenLost } from '../core/shared/messages.ts';
import type { CutOffPolicy } from '../core/shared/when-cut-off.ts';
import { type Decider, localDecider } from './decider.ts';
import { Limiter } from './limiter.ts';
import type { SharedLimits } from './shared-limits.ts';
import { spreadLimit, type SpreadOptions } from './spread/spread-options.ts';

/** See `docs/ratelimit.md` for the bound of each. */
export type WhenCutOff = 'closed' | 'share' | { readonly open: number; readonly forMs: number };

/** What `ratelimit` takes. */
export interface RateLimitOptions extends RateOptions {
  /** Names the limiter in headers, metrics and errors. Required for a limit of several processes. @default 'default' */
  name?: string | undefined;

  /** How many keys are remembered at once. A key is forgotten when it has all its tokens again. @default 1_000_000 */
  maxKeys?: number | undefined;

  /** What becomes of a request for a new key when `maxKeys` keys are in use. @default 'deny' */
  whenFull?: 'deny' | 'admit' | undefined;

  /** Shares the limit with all processes that share limits in the same pool or group; see `joinLimits`. @default this process alone */
  shared?: SharedLimits | undefined;

  /**
   * How a new owner of a key begins: with all tokens, or with none. `empty` is for limits that must hold through every change of
   * owner; then a key may be denied for up to `burst / limit` after each. Only with `shared`. @default 'full'
   */
  whenLost?: WhenLost | undefined;

  /** What is decided when the owner of a key does not answer. Only with `shared`. @default 'share' */
  whenCutOff?: WhenCutOff | undefined;

  /**
   * For how long `whenCutOff: 'share'` lets requests through, in milliseconds; Infinity for ever. Longer than a pool or a group takes to find the next owner of the keys of a dead
   * process: 12 s with the durations of a pool. More lets through more while no process counts for all. @default 15_000
   */
  shareForMs?: number | undefined;

  /**
   * How many processes share the limit at most: for `spread`, unless the group has a number, and for `whenCutOff: 'share'` on a pool. @default the processes in the
   * pool, as this process last knew; the `maxServers` of the group
   */
  maxServers?: number | undefined;

  /** How long a request waits for the owner of its key, in milliseconds. Only with `shared`. @default 80 */
  askTimeoutMs?: number | undefined;

  /**
   * One limit for all keys together (experimental), of which each member of a group uses the part that its traffic needs. For a few
   * large limits with traffic everywhere. @default each key has the limit
   */
  spread?: GroupMember | SpreadOptions | undefined;

  /** The clock to count by, for tests. Not with `shared`. @default the monotonic clock of this process */
  runtime?: Pick<Runtime, 'now'> | undefined;
}

/** With the delays of a busy machine a request is then answered within 100 ms. */
const ASK_TIMEOUT_MS = { default: 80, most: 10_000 };
/** The hold of a pool is over after 11 s, and its next owners wait for one loan. */
const SHARE_FOR_MS_DEFAULT = 15_000;

/** @internal The options of a limit of its own: `limit`, `per` and `burst` are checked together. */
export const RATELIMIT_OPTIONS: OptionTable<RateLimitOptions, 'name' | 'maxKeys' | 'whenFull'> = {
  limit: required(is.anything('above 0, finite')),
  per: optional(is.anything(), "`'1s'`"),
  burst: optional(is.anything('at least 1'), '`limit`, at least 1'),
  name: or('default', is.text(NAME_MAX)),
  maxKeys: or(1_000_000, is.whole(1)),
  whenFull: or('deny', is.oneOf('deny', 'admit')),
  shared: optional(is.anything(), 'this process alone'),
  whenLost: optional(is.oneOf('full', 'empty'), "`'full'`"),
  whenCutOff: optional(is.anything(), "`'share'`"),
  shareForMs: optional(is.timeLimit, numberWords(SHARE_FOR_MS_DEFAULT)),
  maxServers: optional(is.whole(1), 'the processes in the pool, as last known; that of the group'),
  askTimeoutMs: optional(is.from(0, ASK_TIMEOUT_MS.most), numberWords(ASK_TIMEOUT_MS.default)),
  spread: optional(is.anything(), 'each key has the limit'),
  runtime: optional(is.anything(), "this process's clock"),
};

type Resolved = ResolvedOptions<RateLimitOptions, 'name' | 'maxKeys' | 'whenFull'>;

/** Options that have no meaning without `shared`, beside those of a spread limit. */
const ONLY_SHARED = ['whenLost', 'whenCutOff', 'shareForMs', 'askTimeoutMs'] as const;
/** Options that have no meaning for a spread limit. */
const NOT_SPREAD = ['shared', ...ONLY_SHARED, 'maxKeys', 'whenFull', 'runtime'] as const;

/** @throws {InvalidArgumentError} naming the first rule that is broken */
export function ratelimit(options: RateLimitOptions): Limiter {
  const resolved = resolveOptions('', options, RATELIMIT_OPTIONS);
  const rate = resolveRate(options);
  const { name } = resolved;
  if (options.spread !== undefined) {
    refuse(NOT_SPREAD, options, 'a spread limit has no such option');
    demandName(options, 'a spread limit');
    return new Limiter({ name, rate, decider: spreadLimit(options.spread, options.maxServers, name, rate) });
  }
  const { shared } = resolved;
  if (shared !== undefined)
    return new Limiter({ name, rate, decider: sharedDecider(shared, resolved, options, rate) });
  refuse([...ONLY_SHARED, 'maxServers'], options, 'it is for limits of several processes: give shared, too');
  const { maxKeys, whenFull } = resolved;
  const local = new LocalLimiter({ maxKeys, whenFull, spares: true });
  return new Limiter({ name, rate, decider: localDecider(local, options.runtime ?? nodeRuntime()) });
}

function sharedDecider(
  shared: SharedLimits,
  resolved: Resolved,
  options: RateLimitOptions,
  rate: Rate,
): Decider {
  demandName(options, 'a shared limit');
  refuse(['runtime'], options, 'a shared limit counts by the clock of its process');
  const isShared = typeof Object(shared).add === 'function';
  demand('shared', typeof shared, isShared, 'it must be what joinLimits resolves to');
  const rule = 'in a group the number is that of the group: give it to joinGroup or joinLimits';
  if (shared.isOnGroup) refuse(['maxServers'], options, rule);
  const { name, maxKeys, whenFull, whenLost = 'full', askTimeoutMs = ASK_TIMEOUT_MS.default } = resolved;
  const whenCutOff = cutOffPolicy(resolved);
  return shared.add({ name, rate, whenLost, whenCutOff, askTimeoutMs, maxKeys, whenFull });
}

function cutOffPolicy({ whenCutOff = 'share', shareForMs, maxServers }: Resolved): CutOffPolicy {
  if (whenCutOff === 'share') return { kind: 'share', maxServers, forMs: shareForMs ?? SHARE_FOR_MS_DEFAULT };
  refuse(['maxServers', 'shareForMs'], { maxServers, shareForMs }, "it is for whenCutOff: 'share'");
  if (whenCutOff === 'closed') return { kind: 'closed' };
  const { open, forMs } = Object(whenCutOff) as { readonly open: number; readonly forMs: number };
  const isOpen = Number.isFinite(open) && open > 0 && forMs > 0;
  const rule = "it must be 'closed', 'share', or { open, forMs } with two positive numbers";
  demand('whenCutOff', JSON.stringify(whenCutOff), isOpen, rule);
  return { kind: 'open', factor: open, forMs };
}

/** Other processes know the limiter by its name. */
const demandName = ({ name }: RateLimitOptions, what: string): void =>
  demand('name', name, name !== undefined, `${what} needs a name, the same in every process`);

function refuse<Name extends string>(
  names: readonly Name[],
  options: { readonly [Each in Name]?: unknown },
  rule: string,
): void {
  for (const name of names) demand(name, options[name], options[name] === undefined, rule);
}

function demand(option: string, value: unknown, holds: boolean, rule: string): void {
  if (!holds) throw invalidOption(option, value, rule);
}
