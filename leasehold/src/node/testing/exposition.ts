/**
 * For tests only: what Prometheus would have against a text of metrics: the syntax of the exposition format, and the rules of naming that
 * `promtool check metrics` knows. Written after the format's own description and without the code that makes the text, so one mistake cannot be
 * in both. In place of `promtool`, whose package brings 330 MB.
 */

interface Family {
  readonly name: string;
  help: string | undefined;
  type: string | undefined;
  readonly samples: Sample[];
}

interface Sample {
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
}

const TYPES = new Set(['counter', 'gauge', 'histogram', 'summary', 'untyped']);
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"(,?)/;
/** Units that are not the base unit. */
const SCALED =
  /_(?:ms|millis|milliseconds|micros|microseconds|nanoseconds|minutes|hours|days|kilobytes|kb|megabytes|mb|percent|percents)(?:_|$)/;

/** Empty: there is nothing to complain about. */
export function complaintsAbout(text: string): readonly string[] {
  const complaints: string[] = [];
  const families = new Map<string, Family>();
  const closed = new Set<string>();
  let current: Family | undefined;
  const enter = (name: string, line: number): Family => {
    if (current?.name === name) return current;
    if (current !== undefined) closed.add(current.name);
    if (closed.has(name)) complaints.push(`line ${line}: ${name} is in several places`);
    const family = families.get(name) ?? { name, help: undefined, type: undefined, samples: [] };
    families.set(name, family);
    current = family;
    return family;
  };

  if (!text.endsWith('\n')) complaints.push('the last line has no end');
  for (const [index, line] of text.split('\n').entries()) {
    const at = index + 1;
    if (line === '') continue;
    if (line.startsWith('#')) {
      const [, what = '', name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
      if (what === '') {
        if (/^#\s*(?:HELP|TYPE)\b/.test(line)) complaints.push(`line ${at}: ${line}`);
        continue;
      }
      const family = enter(name, at);
      const field = what === 'HELP' ? 'help' : 'type';
      if (family[field] !== undefined) complaints.push(`line ${at}: a second ${what} of ${name}`);
      if (family.samples.length > 0) complaints.push(`line ${at}: ${what} of ${name} after its samples`);
      if (field === 'type' && !TYPES.has(rest)) complaints.push(`line ${at}: there is no type ${rest}`);
      family[field] = rest;
      continue;
    }
    const sample = readSample(line);
    if (sample === undefined) complaints.push(`line ${at}: not a sample: ${line}`);
    else enter(familyOf(sample.name, families), at).samples.push(sample);
  }
  return [...complaints, ...[...families.values()].flatMap(complaintsOfFamily)];
}

function readSample(line: string): Sample | undefined {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) return undefined;
  let rest = line.slice(name.length);
  const labels = new Map<string, string>();
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    for (;;) {
      const [all = '', label = '', value = '', comma] = LABEL.exec(rest) ?? [];
      if (all === '') break;
      if (labels.has(label)) return undefined;
      labels.set(label, value);
      rest = rest.slice(all.length);
      if (comma === '') break;
    }
    if (!rest.startsWith('}')) return undefined;
    rest = rest.slice(1);
  }
  const [, value = ''] = /^[ \t]+(\S+)(?:[ \t]+-?\d+)?$/.exec(rest) ?? [];
  if (/^[+-]?Inf$/.test(value)) return { name, labels, value: value.startsWith('-') ? -Infinity : Infinity };
  if (value === 'NaN') return { name, labels, value: Number.NaN };
  return value === '' || Number.isNaN(Number(value)) ? undefined : { name, labels, value: Number(value) };
}

/** Samples of a histogram end in what they say. */
function familyOf(name: string, families: ReadonlyMap<string, Family>): string {
  const base = name.replace(/_(?:bucket|sum|count)$/, '');
  const type = families.get(base)?.type;
  return type === 'histogram' || type === 'summary' ? base : name;
}

function complaintsOfFamily({ name, help, type, samples }: Family): readonly string[] {
  const complaints: string[] = [];
  if (help === undefined || help.trim() === '') complaints.push(`${name} has no help`);
  if (type === undefined) complaints.push(`${name} has no type`);
  if (type === 'counter' && !name.endsWith('_total')) complaints.push(`${name}: a counter ends in _total`);
  if (type !== 'counter' && name.endsWith('_total'))
    complaints.push(`${name}: only a counter ends in _total`);
  if (type === 'gauge' && /_(?:count|sum|bucket)$/.test(name))
    complaints.push(`${name}: that ending is for histograms`);
  if (SCALED.test(name)) complaints.push(`${name}: seconds, bytes, ratios`);
  if (/[A-Z]/.test(name)) complaints.push(`${name}: lower case`);
  const seen = new Set<string>();
  for (const { name: own, labels, value } of samples) {
    const series = `${own}${JSON.stringify([...labels].sort())}`;
    if (seen.has(series)) complaints.push(`${series} is there twice`);
    seen.add(series);
    for (const label of labels.keys()) {
      if (/[A-Z]/.test(label) || label.startsWith('__')) complaints.push(`${name}: label ${label}`);
      if (label === 'le' && type !== 'histogram') complaints.push(`${name}: le is for histograms`);
    }
    if (type === 'counter' && !(value >= 0)) complaints.push(`${name}: a counter is ${value}`);
  }
  return type === 'histogram' ? [...complaints, ...complaintsOfHistogram(name, samples)] : complaints;
}

function complaintsOfHistogram(name: string, samples: readonly Sample[]): readonly string[] {
  const complaints: string[] = [];
  const byLabels = new Map<string, Sample[]>();
  for (const sample of samples) {
    const others = JSON.stringify([...sample.labels].filter(([label]) => label !== 'le').sort());
    byLabels.set(others, [...(byLabels.get(others) ?? []), sample]);
  }
  for (const group of byLabels.values()) {
    const single = (ending: string): number | undefined =>
      group.find((sample) => sample.name === `${name}${ending}`)?.value;
    const buckets = group
      .filter((sample) => sample.name === `${name}_bucket`)
      .map(({ labels, value }) => ({
        le: Number((labels.get('le') ?? 'x').replace('+Inf', 'Infinity')),
        value,
      }));
    if (buckets.at(-1)?.le !== Infinity) complaints.push(`${name}: the last bucket is not +Inf`);
    for (const [index, { le, value }] of buckets.entries()) {
      const before = buckets[index - 1];
      if (before !== undefined && !(le > before.le && value >= before.value))
        complaints.push(`${name}: bucket ${le} does not follow ${before.le}`);
    }
    if (single('_sum') === undefined) complaints.push(`${name}: no sum`);
    if (single('_count') !== buckets.at(-1)?.value) complaints.push(`${name}: its count is another`);
  }
  return complaints;
}
