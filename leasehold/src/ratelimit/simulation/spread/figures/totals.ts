/** Figures 8, 9, 10 and section 6.3: how well push-sum knows the total. The error is the mean over members, relative to the true total. */

import { PushSum, type PushSumSettings } from '../../../core/spread/push-sum.ts';
import type { GroupSight } from '../../../core/spread/group-sight.ts';
import type { Instant } from '../../../../runtime/time.ts';
import { StaticGroup } from '../static-group.ts';
import type { Figure, Series } from './figure.ts';
import { NaivePushSum } from './naive-push-sum.ts';

type Core = PushSum | NaivePushSum;
type Protocol = new (settings: PushSumSettings, sight: GroupSight, now: Instant) => Core;

interface Run {
  readonly protocol: Protocol;
  readonly members: number;
  readonly branching: number;
  readonly epochMs: number;
  readonly seconds: number;
  readonly lossChance?: number;
  readonly seed?: number;
  value(index: number, seconds: number): number;
  /** Called once a tick. */
  at?(seconds: number, group: StaticGroup<Core>): void;
  isMember?(index: number, seconds: number): boolean;
}

const TICK_S = 0.25;

function play(run: Run): { readonly errors: [number, number][]; readonly totals: [number, number][] } {
  const { members, branching, epochMs, lossChance, isMember = () => true } = run;
  let seconds = 0;
  const group: StaticGroup<Core> = new StaticGroup<Core>({
    ...{ seed: run.seed ?? 1, members, ...(lossChance === undefined ? {} : { lossChance }) },
    make: (index, sight, random, now) =>
      new run.protocol({ branching, epochMs, random, value: () => run.value(index, seconds) }, sight, now),
  });
  const errors: [number, number][] = [];
  const totals: [number, number][] = [];
  while (seconds < run.seconds) {
    run.at?.(seconds, group);
    group.run(1_000 * TICK_S);
    seconds += TICK_S;
    let [truth, error, mean, live] = [0, 0, 0, 0];
    for (let index = 0; index < members; index++)
      if (isMember(index, seconds)) truth += run.value(index, seconds);
    group.cores.forEach((core, index) => {
      if (!isMember(index, seconds)) return;
      live += 1;
      error += Math.abs(core.total - truth);
      mean += core.total;
    });
    errors.push([seconds, truth === 0 ? 0 : (100 * error) / live / truth]);
    totals.push([seconds, mean / live]);
  }
  return { errors, totals };
}

const six = { members: 6, branching: 3, epochMs: 100 };

/** Six members have settled; at 2 s all report new values. Both protocols at one loss rate. */
export function figure8(lossPercent: number, seed = 1): { acknowledged: Series; original: Series } {
  const value = (index: number, seconds: number): number => (seconds < 2 ? 10 : 1 + ((index * 37) % 11));
  const run = { ...six, seconds: 12, lossChance: lossPercent / 100, seed, value };
  return {
    acknowledged: { label: `${lossPercent} % loss`, points: play({ ...run, protocol: PushSum }).errors },
    original: {
      label: `original, ${lossPercent} % loss`,
      points: play({ ...run, protocol: NaivePushSum }).errors,
    },
  };
}

/** A link is cut at 5 s; every 9 s all members report new values. The control cannot reconcile over the overlay. */
export function figure9(): { reconciled: Series; control: Series } {
  const value = (index: number, seconds: number): number =>
    1 + ((index * 37 + Math.floor(seconds / 9) * 13) % 11);
  const at = (seconds: number, group: StaticGroup<Core>): void => {
    if (seconds === 5) group.direct.cutBoth(group.nameOf(1), group.nameOf(3));
  };
  const run = { ...six, seconds: 45, value, at };
  return {
    reconciled: { label: 'reconciled over the overlay', points: play({ ...run, protocol: PushSum }).errors },
    control: {
      label: 'without reconciling',
      points: play({ ...run, protocol: NaivePushSum }).errors,
    },
  };
}

/**
 * 500 members begin anew at 10 s, in a view without 50 of them, with new values; b = 2, epochs of 500 ms, 1 % loss. The control is the original
 * gossip, which goes on with the weight that it has left.
 */
export function restart500(protocol: Protocol = PushSum): Series {
  const changeS = 10;
  const isMember = (index: number, seconds: number): boolean => seconds <= changeS || index >= 50;
  const { errors } = play({
    ...{ protocol, members: 500, branching: 2, epochMs: 500, seconds: 20, isMember, lossChance: 0.01 },
    value: (index, seconds) => (seconds <= changeS ? 0 : 1) + (index % 7),
    at: (seconds, group) => {
      if (seconds === changeS) group.deliver((index) => index >= 50);
    },
  });
  return { label: protocol === PushSum ? 'begins anew' : 'original gossip', points: errors };
}

/** The paper's steps are 90 s long; nothing happens in most of that time. */
export const STEP_S = 20;

/** 182 members; 38 more report 10 at each step, and one member is removed in the middle of the second step. */
export function figure10(
  protocol: Protocol,
  lossPercent: number,
  members = 182,
): { totals: Series; errors: Series; truth: Series } {
  const active = Math.round(0.21 * members);
  const removedS = 1.95 * STEP_S - 1.5;
  const value = (index: number, seconds: number): number =>
    index < active * Math.floor(seconds / STEP_S) ? 10 : 0;
  const isMember = (index: number, seconds: number): boolean => index !== members - 1 || seconds <= removedS;
  const removeAt = Math.round(removedS / TICK_S) * TICK_S;
  const { errors, totals } = play({
    ...{ protocol, members, branching: 8, epochMs: 500, seconds: 5 * STEP_S, value, isMember },
    lossChance: lossPercent / 100,
    at: (seconds, group) => {
      if (seconds === removeAt) group.deliver((index) => index !== members - 1);
    },
  });
  const name = protocol === PushSum ? 'push-sum, acknowledged' : 'original';
  const truth = totals.map(([x]): [number, number] => [x, 10 * active * Math.floor(x / STEP_S)]);
  return {
    totals: { label: `${name}, ${lossPercent} % loss`, points: totals },
    errors: { label: name, points: errors },
    truth: { label: 'true total', points: truth },
  };
}

export const totalsFigures = (): Figure[] => {
  const { reconciled, control } = figure9();
  const ten = figure10(PushSum, 5);
  return [
    {
      ...{
        name: 'figure-8',
        title: 'Error of the total when messages are lost',
        unit: '%',
        marks: [2],
        most: 200,
      },
      series: [...[0, 5, 25].map((loss) => figure8(loss).acknowledged), figure8(5).original],
    },
    {
      ...{
        name: 'figure-9',
        title: 'Error of the total with one link cut',
        unit: '%',
        marks: [5],
        most: 200,
      },
      series: [reconciled, control],
    },
    {
      ...{ name: 'restart-500', title: 'Error of the total of 500 members, 50 of them lost', unit: '%' },
      ...{ marks: [10], most: 100, series: [restart500(), restart500(NaivePushSum)] },
    },
    {
      ...{ name: 'figure-10', title: 'Total of 182 members, in steps', unit: '', marks: [] },
      series: [ten.truth, ten.totals],
    },
  ];
};
