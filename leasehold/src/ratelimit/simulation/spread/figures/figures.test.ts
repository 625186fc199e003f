/** The figures of the paper as runs with pass criteria, each beside a control that fails them. `npm run figures` draws them. */

import { describe, expect, inject, it } from 'vitest';
import { PushSum } from '../../../core/spread/push-sum.ts';
import { between, type Series } from './figure.ts';
import {
  demandFalls,
  figure1Right,
  figure6,
  figure6Control,
  figure7,
  figure11,
  STEP_S as STEP_11_S,
} from './limits.ts';
import { NaivePushSum } from './naive-push-sum.ts';
import { figure8, figure9, figure10, restart500, STEP_S } from './totals.ts';

/** As many as in the paper. Half as many, with the same demand, are held to the same limits and errors. */
const MEMBERS = inject('long') ? 182 : 91;
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
const meanOf = (series: Series, fromS: number, toS: number): number => mean(between(series, fromS, toS));
const greatest = (series: Series, fromS: number, toS: number): number =>
  Math.max(...between(series, fromS, toS));
/** For a value that may be off by a part. */
const within =
  (wanted: number, part: number) =>
  (value: number): boolean =>
    Math.abs(value - wanted) <= part * wanted;
const swing = (series: Series, fromS: number, toS: number): number =>
  greatest(series, fromS, toS) - Math.min(...between(series, fromS, toS));

describe('the figures of the paper', () => {
  it('figure-1-right: two members that are cut from each other use the limit and no more', () => {
    const { greatestSum, allowedPerSecond } = figure1Right();
    expect(greatestSum).toBeLessThanOrEqual(1 + 1e-9);
    expect(allowedPerSecond).toBeGreaterThan(0.95 * 6_000);
  });

  it('figure-6: one cut link changes no view, and 40 and 20 flows keep 4 and 2 Mbps', () => {
    const { L2, L6, greatestSum, views } = figure6();
    expect(views).toBe(0);
    expect(meanOf(L2, 21, 65)).toSatisfy(within(4, 0.05));
    expect(meanOf(L6, 21, 65)).toSatisfy(within(2, 0.05));
    expect(swing(L2, 21, 65)).toBeLessThan(1.2);
    expect(greatestSum).toBeLessThanOrEqual(1 + 1e-9);
  });

  it('figure-6, control: shares from gossip across the cut swing between all and nothing', () => {
    expect(swing(figure6Control().L2, 30, 65)).toBeGreaterThan(5);
  });

  it('figure-7: parted members use 2 and 4 Mbps, and 4 and 2 again within 5 s after the cut', () => {
    const { L2, L6, greatestSum } = figure7();
    expect(meanOf(L2, 25, 50)).toSatisfy(within(2, 0.05));
    expect(meanOf(L6, 25, 50)).toSatisfy(within(4, 0.05));
    expect(meanOf(L2, 55, 70)).toSatisfy(within(4, 0.05));
    expect(meanOf(L6, 55, 70)).toSatisfy(within(2, 0.05));
    expect(greatestSum).toBeLessThanOrEqual(1 + 1e-9);
  });

  it('figure-7, control: in a group that needs a majority, the parted members use 1 Mbps of their 2', () => {
    const { L2, L6 } = figure7(true);
    expect(meanOf(L2, 25, 50)).toSatisfy(within(1, 0.05));
    expect(meanOf(L6, 25, 50)).toSatisfy(within(4, 0.05));
  });

  it.each([0, 1, 5, 10, 25])('figure-8: at %i %% loss the error of the total falls below 1 %%', (loss) => {
    const { acknowledged, original } = figure8(loss);
    expect(greatest(acknowledged, 4, 12)).toBeLessThan(1);
    // The control: the original gossip loses weight for good.
    if (loss > 0) expect(meanOf(original, 4, 12)).toBeGreaterThan(5);
  });

  it('figure-9: reconciling over the overlay keeps the total right although a link is cut', () => {
    const { reconciled, control } = figure9();
    for (const fromS of [11, 20, 29, 38]) expect(greatest(reconciled, fromS, fromS + 6.75)).toBeLessThan(1);
    expect(meanOf(control, 20, 45)).toBeGreaterThan(50);
  });

  it('restart-500: 450 of 500 members know the new total within 5 s', () => {
    expect(greatest(restart500(), 15, 20)).toBeLessThan(5);
    expect(greatest(restart500(NaivePushSum), 15, 20)).toBeGreaterThan(5);
  });

  it(`figure-10: ${MEMBERS} members are within 5 % of the total six epochs after each step`, () => {
    const { errors } = figure10(PushSum, 5, MEMBERS);
    for (const step of [1, 2, 3, 4]) {
      expect(
        greatest(errors, step * STEP_S + 3.5, (step + 1) * STEP_S - (step === 1 ? 3 : 0.5)),
      ).toBeLessThan(5);
    }
    expect(greatest(figure10(NaivePushSum, 5, MEMBERS).errors, STEP_S + 3.5, 2 * STEP_S)).toBeGreaterThan(50);
  });

  it(`figure-11 and figure-12: ${MEMBERS} limiters hold 30 Mbps and use nine tenths, as one collector does`, () => {
    const { allowed, levels, collector } = figure11(MEMBERS);
    for (const series of [allowed, collector]) {
      expect(greatest(series, 0, 5 * STEP_11_S)).toBeLessThanOrEqual(30 + 9);
      for (const step of [2, 3, 4, 5])
        expect(meanOf(series, step * STEP_11_S - 1, step * STEP_11_S)).toBeGreaterThan(27);
    }
    expect(greatest(levels, 0, 5 * STEP_11_S)).toBeLessThanOrEqual(30 + 1e-6);
  });

  it('demand-falls: levels stay within the limit, and shares computed from push-sum do not', () => {
    const { shares, levels } = demandFalls(MEMBERS);
    expect(greatest(levels, 0, 10)).toBeLessThanOrEqual(1 + 1e-9);
    expect(greatest(shares, 5, 10)).toBeGreaterThan(5);
  });
});
