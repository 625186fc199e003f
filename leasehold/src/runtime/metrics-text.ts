/**
 * Metrics as text, in the exposition format 0.0.4 of Prometheus:
 *
 *     # HELP leasehold_manager_commits_total Batches committed.
 *     # TYPE leasehold_manager_commits_total counter
 *     leasehold_manager_commits_total 41
 */

import { assert } from './assert.ts';

export interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** How often a value was at most each of the bounds; the last one counts those beyond all. */
export interface Distribution {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

export interface Family {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly samples: readonly Sample[] | Distribution;
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export const metricsText = (families: readonly Family[]): string => families.map(familyText).join('');

function familyText({ name, type, help, samples }: Family): string {
  assert(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/.test(name), `no name of a metric: ${name}`);
  const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
  const lines = 'bounds' in samples ? histogramLines(name, samples) : samples.map((each) => line(name, each));
  return head + lines.join('');
}

/** Each bucket counts all that is not above its bound, so the last one counts everything. */
function histogramLines(name: string, { bounds, counts, sum }: Distribution): readonly string[] {
  let total = 0;
  const buckets = [...bounds, Number.POSITIVE_INFINITY].map((bound, index) => {
    total += counts[index] ?? 0;
    return line(`${name}_bucket`, { labels: { le: numberText(bound) }, value: total });
  });
  return [...buckets, line(`${name}_sum`, { value: sum }), line(`${name}_count`, { value: total })];
}

function line(name: string, { labels = {}, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}\n`;
}

const numberText = (value: number): string =>
  value === Number.POSITIVE_INFINITY ? '+Inf' : value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');

const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');
