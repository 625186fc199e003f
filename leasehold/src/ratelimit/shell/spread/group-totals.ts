/**
 * The sum of a number over all members of a group: `groupTotals`. Every member gives its own number, and each of them knows the total after a few
 * epochs, without a collector. The total is an estimate (`push-sum.ts`), to be shown or to steer by; no rights follow from it.
 */

import type { GroupMember } from '../../../membership/shell/group-member.ts';
import { alarmOn, Driver } from '../../../runtime/driver.ts';
import * as is from '../../../runtime/option-kinds.ts';
import {
  type DefaultRow,
  type OptionTable,
  or,
  required,
  resolveOptions,
} from '../../../runtime/option-table.ts';
import { SuspensionGuard } from '../../../runtime/suspension.ts';
import { PushSum, type PushSumEffect } from '../../core/spread/push-sum.ts';
import { attachTo, sightOf } from './on-group.ts';

/** What `groupTotals` takes besides the group. */
export interface GroupTotalsOptions {
  /** Names the total; the same at every member. */
  name: string;

  /** This member's number. Called in every epoch. If it throws, or gives none from -2^53 to 2^53, the last number counts, and the first time is logged. */
  value: () => number;

  /** How often members exchange parts, in milliseconds. Equal at all members; more than a trip between two of them. @default 100 */
  everyMs?: number | undefined;
}

export interface GroupTotals extends Disposable {
  /** The estimate of the sum over all members of the view. */
  readonly total: number;
  /** Over how many members. */
  readonly members: number;
}

/** @internal How often members exchange parts. */
export const EVERY_MS_ROW: DefaultRow<number> = or(100, is.from(10, 10_000));

/** @internal */
export const GROUP_TOTALS_OPTIONS: OptionTable<GroupTotalsOptions, 'everyMs'> = {
  name: required(is.name(128)),
  value: required(is.callback()),
  everyMs: EVERY_MS_ROW,
};

/**
 * Shares a number with all members of the group, which each know the total.
 *
 * @throws {InvalidArgumentError} naming the first rule that is broken
 */
export function groupTotals(group: GroupMember, options: GroupTotalsOptions): GroupTotals {
  const { name, value, everyMs } = resolveOptions('', options, GROUP_TOTALS_OPTIONS);
  const { runtime, durations, logger } = group.inside;
  const own = lastNumber(value, (why) =>
    logger.error(`the value of the total ${name} cannot be added: the last one counts`, { why }),
  );
  const core = new PushSum(
    { epochMs: everyMs, random: () => runtime.random(), value: own },
    sightOf(group),
    runtime.now(),
  );
  const channel = attachTo(group, `totals/${name}`, {
    look: () => driver.input(() => core.look()),
    receive: (from, message) => driver.input((now) => core.receive(from, message, now)),
    left: () => driver.stop(),
  });
  const driver = new Driver<PushSumEffect>({
    ...{ core, clock: runtime, guard: new SuspensionGuard(runtime, durations.suspensionToleranceMs) },
    alarm: (wake) => alarmOn(runtime, wake),
    execute: ({ to, message, isDirect }) => channel.send(to, message, isDirect),
  });
  driver.input((now) => core.wake(now));
  return {
    get total() {
      return core.total;
    },
    get members() {
      return core.members;
    },
    [Symbol.dispose]: () => {
      driver.stop();
      channel[Symbol.dispose]();
    },
  };
}

/**
 * The last number that could be added. The function is the application's and is called inside an epoch, where an error would end the process; and one number
 * near the end of doubles would outweigh all others in every member's total for ever.
 *
 * @param failed told once, until the function gives a number again
 */
export function lastNumber(value: () => number, failed: (why: string) => void): () => number {
  let last = 0;
  let hasFailed = false;
  const read = (): number | string => {
    try {
      const number = value();
      const canBeAdded = typeof number === 'number' && Math.abs(number) <= Number.MAX_SAFE_INTEGER;
      return canBeAdded ? number : `${String(number)} is no number from -2^53 to 2^53`;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  return () => {
    const result = read();
    if (typeof result === 'number') last = result;
    else if (!hasFailed) failed(result);
    hasFailed = typeof result !== 'number';
    return last;
  };
}
