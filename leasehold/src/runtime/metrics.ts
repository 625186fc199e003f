/**
 * A table of metrics: each row has a name, a type, labels, a help text and a function that reads the value.
 *
 * A module states its table once. `/metrics` renders the table, and a test compares the table with `docs/metrics.md`.
 * Values are read when somebody asks, so a metric that nobody scrapes costs nothing. A counter that changes with every
 * message is a plain field: adding one to a field costs less than a nanosecond, finding a metric by its labels two
 * hundred.
 *
 * Names end in their unit, and counters in `_total`. A label has few values (pools, peers, reasons); never keys or
 * addresses, of which there is no end.
 */

import type { Distribution, Family, Sample } from './metrics-text.ts';

export interface Metric<Reading> {
  readonly name: string;
  readonly type: Family['type'];
  readonly labels: readonly string[];
  readonly help: string;
  /** An empty list: not known, or does not apply. */
  read(reading: Reading): readonly Sample[] | Distribution;
}

type Value<Reading> = (reading: Reading) => number | undefined;

export const gauge = <Reading>(name: string, help: string, value: Value<Reading>): Metric<Reading> =>
  single('gauge', name, help, value);

export const counter = <Reading>(name: string, help: string, value: Value<Reading>): Metric<Reading> =>
  single('counter', name, help, value);

const single = <Reading>(
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  value: Value<Reading>,
): Metric<Reading> => ({
  ...{ name, type, labels: [], help },
  read: (reading) => {
    const read = value(reading);
    return read === undefined ? [] : [{ value: read }];
  },
});

/** One series for each value of a label; undefined: no sample. */
export const labelled = <Reading>(
  type: 'counter' | 'gauge',
  name: string,
  label: string,
  help: string,
  values: (reading: Reading) => Iterable<readonly [string, number | undefined]>,
): Metric<Reading> => ({
  ...{ name, type, labels: [label], help },
  read: (reading) =>
    [...values(reading)].flatMap(([text, value]) =>
      value === undefined ? [] : [{ labels: { [label]: text }, value }],
    ),
});

export const histogram = <Reading>(
  name: string,
  help: string,
  read: (reading: Reading) => Histogram,
): Metric<Reading> => ({ ...{ name, type: 'histogram', labels: [], help }, read });

/** The table as it reads now. */
export const familiesOf = <Reading>(
  metrics: readonly Metric<Reading>[],
  reading: Reading,
): readonly Family[] =>
  metrics.map(({ name, type, help, read }) => ({ name, type, help, samples: read(reading) }));

/** How often a value was at most each of the bounds; the last one counts those beyond all. */
export class Histogram implements Distribution {
  readonly bounds: readonly number[];
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let index = 0;
    while (index < this.bounds.length && value > (this.bounds[index] ?? 0)) index += 1;
    this.counts[index] = (this.counts[index] ?? 0) + 1;
    this.sum += value;
  }
}
