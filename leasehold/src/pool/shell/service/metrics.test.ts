import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Histogram } from '../../../runtime/metrics.ts';
import { METRICS as OWN, MOST_POOLS } from './metrics.ts';
import { PROCESS_METRICS } from '../../../node/service/status-routes.ts';
import { complaintsAbout } from '../../../node/testing/exposition.ts';
import { router } from '../../../node/http/router.ts';
import type { ApiSource } from './source.ts';
import { metricsText } from '../../../runtime/metrics-text.ts';
import { instant } from '../../../runtime/time.ts';
import type { StoreMember } from './source.ts';
import { apiRoutes, keepingNothing, moving, standby, threeOwners } from './source-script.ts';

const METRICS = [...OWN, ...PROCESS_METRICS];

function renderMetrics(source: ApiSource): string {
  const answer = router(apiRoutes(source))('GET', '/metrics', () => undefined);
  if (answer.kind !== 'text') throw new Error('/metrics is no text');
  expect(complaintsAbout(answer.body)).toEqual([]);
  return answer.body;
}

interface Parsed {
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly value: number;
  }[];
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\n"])*)"/g;

/** Reads the format as strictly as the specification; throws at the first line that does not conform. */
function parse(text: string): Parsed {
  expect(text.endsWith('\n')).toBe(true);
  const types = new Map<string, string>();
  const samples: { name: string; labels: Record<string, string>; value: number }[] = [];
  let family = '';
  for (const line of text.slice(0, -1).split('\n')) {
    const head = /^# (HELP|TYPE) (\S+) ([^\n]*)$/.exec(line);
    if (head !== null) {
      const [, what, name = '', rest = ''] = head;
      if (what === 'HELP') family = name;
      expect(name).toBe(family);
      if (what === 'TYPE') {
        expect(types.has(name)).toBe(false);
        types.set(name, rest);
      }
      continue;
    }
    const sample = SAMPLE.exec(line);
    if (sample === null) throw new Error(`not a sample: ${line}`);
    const [, name = '', labels = '', value = ''] = sample;
    expect(name.startsWith(family)).toBe(true);
    samples.push({
      name,
      labels: Object.fromEntries(
        [...labels.matchAll(LABEL)].map(([, label, each = '']) => [label, unescaped(each)]),
      ),
      value:
        value === '+Inf'
          ? Number.POSITIVE_INFINITY
          : value === '-Inf'
            ? Number.NEGATIVE_INFINITY
            : Number(value),
    });
  }
  return { types, samples };
}

const unescaped = (text: string): string =>
  text.replace(/\\([\\n"])/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));

const sampleOf = (
  { samples }: Parsed,
  name: string,
  labels: Record<string, string> = {},
): number | undefined =>
  samples.find(
    (each) =>
      each.name === name && Object.entries(labels).every(([label, text]) => each.labels[label] === text),
  )?.value;

describe('metrics as text', () => {
  it('can be read back, whatever labels and values are', () => {
    const value = fc.double({ noNaN: true }).map((each) => (each === 0 ? 0 : each));
    // Every UTF-16 unit, and those that mean something to the format more often than others.
    const unit = fc
      .oneof(fc.nat({ max: 0xffff }), fc.constantFrom(10, 13, 34, 92, 123))
      .map((code) => String.fromCharCode(code));
    const label = fc.string({ unit });
    fc.assert(
      fc.property(fc.array(fc.tuple(label, value), { maxLength: 4 }), label, (all, help) => {
        const samples = all.map(([text, each]) => ({ labels: { pool: text }, value: each }));
        const text = metricsText([{ name: 'a_b', type: 'gauge', help, samples }]);
        expect(parse(text).samples).toEqual(samples.map((each) => ({ name: 'a_b', ...each })));
      }),
      { numRuns: 300 },
    );
  });

  it('adds up the buckets of a histogram', () => {
    const histogram = new Histogram([1, 2]);
    for (const value of [0.5, 1, 1.5, 9]) histogram.observe(value);
    expect(metricsText([{ name: 'h', type: 'histogram', help: 'x', samples: histogram }])).toBe(
      `# HELP h x\n# TYPE h histogram\n${[
        'h_bucket{le="1"} 2',
        'h_bucket{le="2"} 3',
        'h_bucket{le="+Inf"} 4',
        'h_sum 12',
        'h_count 4',
      ].join('\n')}\n`,
    );
  });
});

describe('the metrics of a Manager', () => {
  const manager = threeOwners();
  manager.counters.reports = 7;
  manager.counters.commitSeconds.observe(0.003);
  manager.commit('presence', [{ kind: 'leave', incarnation: 'presence-2.1', why: 'expired' }]);
  const read = parse(renderMetrics(manager.source()));

  it('say what is so', () => {
    expect(sampleOf(read, 'leasehold_manager_role', { role: 'leading' })).toBe(1);
    expect(sampleOf(read, 'leasehold_manager_role', { role: 'standby' })).toBe(0);
    expect(sampleOf(read, 'leasehold_pool_owners', { pool: 'presence' })).toBe(2);
    expect(sampleOf(read, 'leasehold_pool_lookups', { pool: 'presence' })).toBe(2);
    expect(sampleOf(read, 'leasehold_manager_reports_total')).toBe(7);
    expect(sampleOf(read, 'leasehold_pool_owners_left_total', { why: 'expired' })).toBe(1);
    expect(sampleOf(read, 'leasehold_pool_losses_total')).toBe(1);
    expect(sampleOf(read, 'leasehold_pool_unowned_ratio', { pool: 'presence' })).toBeGreaterThan(0.2);
    expect(sampleOf(read, 'leasehold_manager_commit_duration_seconds_bucket', { le: '0.005' })).toBe(1);
    expect(sampleOf(read, 'process_resident_memory_bytes')).toBe(50_000_000);
  });

  it('say what moves, what is to move, and what became of moves, if it leads', () => {
    const mover = moving();
    mover.movesEnded = { moved: 5, returned: 2, void: 1 };
    const leading = parse(renderMetrics(mover.source()));
    const rows = mover.state.pool('presence').rowsOf('presence-1.1').length;
    expect(rows).toBeGreaterThan(1);
    expect(sampleOf(leading, 'leasehold_pool_draining_ranges', { pool: 'presence' })).toBe(rows);
    expect(sampleOf(leading, 'leasehold_pool_moves_underway', { pool: 'presence' })).toBe(1);
    expect(
      ['moved', 'returned', 'void'].map((outcome) =>
        sampleOf(leading, 'leasehold_pool_moves_total', { outcome }),
      ),
    ).toEqual([5, 2, 1]);
    mover.role = 'standby';
    const names = parse(renderMetrics(mover.source())).samples.map(({ name }) => name);
    expect(names.filter((name) => /draining|_moves_/.test(name))).toEqual([]);
  });

  it('are all there, once each, of the type they are said to be', () => {
    expect([...read.types]).toEqual(METRICS.map(({ name, type }) => [name, type]));
  });

  it('are named as the conventions want it', () => {
    for (const { name, type, help } of METRICS) {
      expect(name).toMatch(/^(leasehold|process)(_[a-z]+)+$/);
      expect([name, name.endsWith('_total')]).toEqual([name, type === 'counter']);
      expect(name).not.toMatch(/_(ms|milliseconds|kilobytes|percent)\b/);
      expect(help.endsWith('.')).toBe(true);
    }
  });

  it('have no labels but those that are few', () => {
    const labels = new Set(read.samples.flatMap((each) => Object.keys(each.labels)));
    expect([...labels].sort()).toEqual([
      'check',
      'le',
      'limit',
      'module',
      'outcome',
      'pool',
      'role',
      'version',
      'why',
    ]);
  });

  it('say of one of several how far behind it is, who else is there, and how the store is', () => {
    const [well, full, away] = [
      { reachable: true, complaint: undefined, databaseBytes: 20_000, isLeader: true },
      { reachable: true, complaint: 'NOSPACE', databaseBytes: 30_000, isLeader: false },
      { reachable: false, complaint: 'no answer', databaseBytes: undefined, isLeader: false },
    ].map((member, index) => ({ ...member, endpoint: `http://e${index}`, version: undefined })) as [
      StoreMember,
      StoreMember,
      StoreMember,
    ];
    const store = { kind: 'etcd', where: 'p/', bytes: undefined, members: [well, full, away] } as const;
    const one = standby();
    one.headSeen = { position: one.state.position + 2, askedAt: instant(0) };
    const known = parse(renderMetrics(one.source({ store: () => store })));
    expect(sampleOf(known, 'leasehold_manager_log_behind_positions')).toBe(2);
    expect(sampleOf(known, 'leasehold_manager_leader_lease_seconds')).toBeUndefined();
    expect(sampleOf(known, 'leasehold_manager_managers')).toBe(3);
    expect(sampleOf(known, 'leasehold_manager_store_members')).toBe(3);
    expect(sampleOf(known, 'leasehold_manager_store_members_reachable')).toBe(2);
    expect(sampleOf(known, 'leasehold_manager_store_members_complaining')).toBe(1);
    expect(sampleOf(known, 'leasehold_manager_store_database_bytes')).toBe(30_000);
  });

  it('say how much longer a leader may act, unless that has no end', () => {
    expect(sampleOf(read, 'leasehold_manager_leader_lease_seconds')).toBe(2);
    const alone = threeOwners();
    const observe = () => ({ ...alone.observe(), leadsUntil: instant(Number.POSITIVE_INFINITY) });
    const known = parse(renderMetrics(alone.source({ observe })));
    expect(sampleOf(known, 'leasehold_manager_leader_lease_seconds')).toBeUndefined();
  });

  it('leave out what is not known rather than to say 0', () => {
    const one = threeOwners();
    one.role = 'standby';
    const store = { kind: 'memory', where: undefined, bytes: undefined, members: [] } as const;
    const known = parse(renderMetrics(one.source({ store: () => store })));
    expect(sampleOf(known, 'leasehold_pool_misplaced_ratio')).toBeUndefined();
    expect(sampleOf(known, 'leasehold_manager_log_size_bytes')).toBeUndefined();
    expect(sampleOf(known, 'leasehold_manager_log_behind_positions')).toBeUndefined();
    expect(sampleOf(known, 'leasehold_manager_store_members_reachable')).toBeUndefined();
  });

  it('leave out of one that keeps nothing all that only the one that leads knows, but for its term', () => {
    const known = parse(renderMetrics(keepingNothing().source()));
    expect(sampleOf(known, 'leasehold_manager_term')).toBe(7);
    for (const name of [
      ...['manager_log_position', 'manager_pools', 'pool_owners', 'pool_rows'],
      ...['pool_unowned_ratio', 'pool_lookups'],
    ])
      expect([name, sampleOf(known, `leasehold_${name}`)]).toEqual([name, undefined]);
  });

  it('have series for no more pools than are few', () => {
    const many = threeOwners();
    many.declared = Array.from({ length: 3 * MOST_POOLS }, (_, index) => `pool-${index}`);
    const { samples } = parse(renderMetrics(many.source()));
    expect(samples.filter(({ name }) => name === 'leasehold_pool_owners')).toHaveLength(MOST_POOLS);
    expect(samples.find(({ name }) => name === 'leasehold_manager_pools')?.value).toBe(3 * MOST_POOLS + 1);
  });

  it('are listed in docs/metrics.md, and nothing else is', () => {
    const whole = readFileSync(new URL('../../../../../docs/metrics.md', import.meta.url), 'utf8');
    const [text = ''] = whole.split('\n## Of an owner and a look-up\n');
    const documented = [...text.matchAll(/^\| `(\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)].map(
      ([, name, type, labels, help]) => [name, type, labels?.replaceAll('`', ''), help],
    );
    expect(documented).toEqual(
      METRICS.map(({ name, type, labels, help }) => [name, type, labels.join(', '), help]),
    );
  });
});
