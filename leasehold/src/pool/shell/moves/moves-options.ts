/** The option `moves` of an owner, and the rules that come with it. */

import { invalidOption } from '../../../runtime/errors.ts';
import * as is from '../../../runtime/option-kinds.ts';
import {
  type OptionTable,
  optional,
  or,
  type ResolvedOptions,
  resolveOptions,
} from '../../../runtime/option-table.ts';
import { DEFAULT_MOVE_SETTINGS } from '../../core/moves/seam.ts';

/** What `moves` of `joinPool` takes, besides `true`. */
export interface MovesOptions {
  /** The most that is sent, for all moves together; the frames of a stop do not wait for it. @default no limit */
  bytesPerSecond?: number | undefined;
  /** How many moves are sent at a time. A Manager orders two at most, in each direction, and more of an owner that hands everything over. @default 2 */
  maxAtOnce?: number | undefined;
  /** The longest stop of a range, in milliseconds, before the owner serves on and tries again; of an owner that hands everything over the first. @default 100 */
  stopTimeoutMs?: number | undefined;
  /** How long a stopped range waits for the target's last acknowledgement, in milliseconds. @default 250 */
  ackTimeoutMs?: number | undefined;
  /** A move without progress for this long is given up, in milliseconds. @default 10_000 */
  stallTimeoutMs?: number | undefined;
  /** How long `drain` and disposing try, in milliseconds; below the time after which the process is killed. @default 8_000 */
  drainTimeoutMs?: number | undefined;
}

type Defaulted = 'maxAtOnce' | 'stopTimeoutMs' | 'ackTimeoutMs' | 'stallTimeoutMs' | 'drainTimeoutMs';

/** @internal */
export const MOVES_OPTIONS: OptionTable<MovesOptions, Defaulted> = {
  bytesPerSecond: optional(is.from(1), 'no limit'),
  maxAtOnce: or(2, is.whole(1, 2)),
  stopTimeoutMs: or(DEFAULT_MOVE_SETTINGS.stopTimeoutMs, is.duration),
  ackTimeoutMs: or(DEFAULT_MOVE_SETTINGS.ackTimeoutMs, is.duration),
  stallTimeoutMs: or(10_000, is.duration),
  drainTimeoutMs: or(8_000, is.duration),
};

/** @internal */
export type MoveRules = ResolvedOptions<MovesOptions, Defaulted>;

/**
 * Undefined if keys do not move.
 *
 * @throws {InvalidArgumentError}
 * @internal
 */
export function resolveMoves(moves: boolean | MovesOptions | undefined): MoveRules | undefined {
  if (moves === undefined || moves === false) return undefined;
  if (moves !== true && (typeof moves !== 'object' || moves === null))
    throw invalidOption('moves', moves, 'it must be true, false, or an object of options');
  return resolveOptions('moves.', moves === true ? {} : moves, MOVES_OPTIONS);
}

/**
 * A move is no loss, so it is told to no caller: state that an application keeps beside its keys would vanish in silence.
 *
 * @throws {InvalidArgumentError}
 * @internal
 */
export function checkPairs(given: {
  readonly onGrant?: unknown;
  readonly onArrive?: unknown;
  readonly onRevoke?: unknown;
  readonly onDepart?: unknown;
}): void {
  if (given.onGrant !== undefined && given.onArrive === undefined)
    throw invalidOption(
      'onArrive',
      undefined,
      'with moves, onGrant needs it: keys that arrive with their state are told to onArrive, and to onGrant only those that come empty',
    );
  if (given.onRevoke !== undefined && given.onDepart === undefined)
    throw invalidOption(
      'onDepart',
      undefined,
      'with moves, onRevoke needs it: keys that move away are told to onDepart, which flushes what the next owner reads from a store, and to onRevoke only those that are given back',
    );
}
