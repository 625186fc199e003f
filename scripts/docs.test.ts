/**
 * What the documents say is so: links lead somewhere, every option and every error is there with its
 * facts, and the code compiles and runs. First the checks themselves are shown something wrong.
 */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join, normalize } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { JOIN_FLEASE_OPTIONS } from '../leasehold/src/flease/shell/join-flease.ts';
import { CONNECT_GROUP_OPTIONS } from '../leasehold/src/membership/shell/connect-group.ts';
import { JOIN_GROUP_OPTIONS } from '../leasehold/src/membership/shell/join-group.ts';
import { GROUP_ETCD_OPTIONS } from '../leasehold/src/membership/shell/registry.ts';
import { SERVE_STATUS_OPTIONS } from '../leasehold/src/node/service/serve-status.ts';
import { isMisdirected } from '../leasehold/src/pool/shell/http-answer.ts';
import { CALL_OPTIONS } from '../leasehold/src/pool/shell/lookup/call-owner.ts';
import { POOL_OPTIONS } from '../leasehold/src/pool/shell/manager/configuration.ts';
import { LEASED_MAP_OPTIONS } from '../leasehold/src/pool/shell/state/leased-map-options.ts';
import { MOVES_OPTIONS } from '../leasehold/src/pool/shell/moves/moves-options.ts';
import { DRAIN_OPTIONS } from '../leasehold/src/pool/shell/owner/drain.ts';
import { JOIN_POOL_OPTIONS } from '../leasehold/src/pool/shell/owner/join-pool.ts';
import { CONNECT_LOOKUP_OPTIONS } from '../leasehold/src/pool/shell/lookup/connect-lookup.ts';
import { RECOVERY_OPTIONS } from '../leasehold/src/pool/shell/manager/recover.ts';
import { START_MANAGER_OPTIONS } from '../leasehold/src/pool/shell/manager/start-manager.ts';
import { CONNECT_QUORUM_OPTIONS } from '../leasehold/src/quorum/shell/connect-quorum.ts';
import { START_REPLICA_OPTIONS } from '../leasehold/src/quorum/shell/start-replica.ts';
import { JOIN_LIMITS_IN_GROUP_OPTIONS } from '../leasehold/src/ratelimit/shell/limits-in-group.ts';
import { JOIN_LIMITS_ON_POOL_OPTIONS } from '../leasehold/src/ratelimit/shell/limits-on-pool.ts';
import { DEFINE_OBJECT_OPTIONS } from '../leasehold/src/objects/core/define-object.ts';
import { LOCAL_OBJECTS_OPTIONS } from '../leasehold/src/objects/shell/local-objects.ts';
import { OBJECT_CALL_OPTIONS } from '../leasehold/src/objects/shell/remote-objects.ts';
import { RATELIMIT_OPTIONS } from '../leasehold/src/ratelimit/shell/ratelimit.ts';
import { SPREAD_OPTIONS } from '../leasehold/src/ratelimit/shell/spread/spread-options.ts';
import { ETCD_OPTIONS, ETCD_STORE_OPTIONS } from '../leasehold/src/pool/shell/manager/etcd-options.ts';
import { DIRECTORY_STORE_OPTIONS } from '../leasehold/src/pool/shell/manager/store.ts';
import { SUPERVISE_OPTIONS } from '../leasehold/src/pool/shell/supervise.ts';
import { lastingPort } from '../leasehold/src/node/testing/lasting-port.ts';
import { lossBoundMs, resolveDurations } from '../leasehold/src/pool/core/options.ts';
import { startManager } from '../leasehold/src/pool/shell/manager/start-manager.ts';
import type { OptionRow } from '../leasehold/src/runtime/option-table.ts';
import {
  allOptionsOf,
  type DeclaredError,
  errorsOf,
  logLinesOf,
  optionsOf,
  thrownIn,
} from './docs/declarations.ts';
import { ExampleProject } from './docs/examples.ts';
import { type Document, readDocument } from './docs/markdown.ts';
import { root } from './project.mjs';
import { isCode, readRepository } from './tidy/files.ts';
import { type Source, source } from './tidy/source.ts';

const LONG_MS = 120_000;

const files = readRepository(root);
const documents = files
  .filter(({ path }) => path.endsWith('.md'))
  .map(({ path, text }) => readDocument(path, text));
const documentAt = (path: string): Document => {
  const found = documents.find((document) => document.path === path);
  if (found === undefined) throw new Error(`there is no ${path}`);
  return found;
};
const sourceAt = (path: string): Source => {
  const found = files.find((file) => file.path === path);
  if (found === undefined) throw new Error(`there is no ${path}`);
  return found;
};

function brokenLinks(document: Document, all: readonly Document[]): readonly string[] {
  return document.links.flatMap(({ target, line }) => {
    if (/^[a-z]+:/.test(target)) return [];
    const [path = '', anchor] = target.split('#');
    const place = path === '' ? document.path : normalize(join(dirname(document.path), path));
    const other = all.find((each) => each.path === place.replaceAll('\\', '/'));
    const leads = other === undefined ? existsSync(join(root, place)) : true;
    const isFound = anchor === undefined || other === undefined || other.anchors.has(anchor);
    return leads && isFound ? [] : [`${document.path}:${line}: ${target} leads nowhere`];
  });
}

/** Names in the first cells of the tables under a heading. */
const namesUnder = (document: Document, heading: string): readonly string[] =>
  (document.rows.get(heading) ?? []).flatMap(([first = '']) => /^`(\w+)`$/.exec(first)?.[1] ?? []);

describe('the checks', () => {
  const there = readDocument('docs/there.md', '# A heading: here\n\n```\n# not one\n[x](nowhere.md)\n```\n');

  it('find a link that leads nowhere, and none that leads somewhere', () => {
    const text = '[a](there.md) [b](there.md#a-heading-here) [c](gone.md) [d](there.md#not-one) `[e](e.md)`';
    const here = readDocument('docs/here.md', `${text} [f](https://example.com/gone.md)`);
    expect(brokenLinks(here, [here, there])).toEqual([
      'docs/here.md:1: gone.md leads nowhere',
      'docs/here.md:1: there.md#not-one leads nowhere',
    ]);
    expect(there.links).toEqual([]);
  });

  it('read the options of an interface, not those of what is within', () => {
    const text = [
      'export interface Options extends Others {',
      '  /** not: this */',
      '  a: string;',
      '  b?: { readonly c?: number } | undefined;',
      '  readonly d?: ((e: string, f: () => void) => void) | undefined;',
      '  g?:',
      '    | { readonly h?: string }',
      '    | undefined;',
      '}',
      'interface More { i: string }',
    ];
    expect(optionsOf(source('a.ts', text.join('\n')), 'Options')).toEqual(['a', 'b', 'd', 'g']);
  });

  it('read what is said to a logger', () => {
    const text = [
      "logger.warn('one', { two: 'three' }); // logger.warn('no')",
      `this.#logger.error(\`four $\{five}\`);`,
      "complaints.about(this.#address, 'six', why);",
      "logger.info('a longer line: with a colon', {",
      'logger.error(error.message, { code });',
    ];
    expect(logLinesOf(source('a.ts', text.join('\n')))).toEqual([
      'one',
      'four ',
      'six',
      'a longer line: with a colon',
    ]);
  });

  it('read the codes of errors, and whether to try again', () => {
    const text = [
      "class A extends SingleError {\n  readonly code = 'A_CODE';\n  readonly retryable = true;\n}",
      "class B extends SingleError {\n  readonly code: 'B' | 'C';\n  readonly retryable: boolean;\n}",
      'class D extends SingleError {\n  readonly code: string;\n  readonly retryable = false;\n}',
    ];
    expect(errorsOf(source('a.ts', text.join('\n')))).toEqual([
      { name: 'A', path: 'a.ts', codes: ['A_CODE'], retryable: true },
      { name: 'B', path: 'a.ts', codes: ['B', 'C'], retryable: undefined },
      { name: 'D', path: 'a.ts', codes: undefined, retryable: false },
    ]);
    const thrown =
      "throw new UnavailableError('BUSY', 'm'); new InUseError(\n  'LOCKED',\n m); new Error('NO')";
    expect(thrownIn(source('a.ts', thrown))).toEqual(['UnavailableError BUSY', 'InUseError LOCKED']);
  });
});

describe('the checks of code', () => {
  const fence = '```';
  const text = `\n${fence}ts\nconst a: string = 3;\n${fence}\n\n${fence}ts run\nprocess.exit(3);\n${fence}\n`;

  it(
    'name the line in the document that does not compile, and see what fails',
    async () => {
      using project = new ExampleProject([readDocument('docs/here.md', text)]);
      const [complaint, ...others] = await project.compile();
      expect(complaint).toMatch(/^docs\/here\.md:3: TS2322/);
      expect(others).toEqual([]);
      expect(await Promise.all(project.examples.map((example) => project.run(example)))).toMatchObject([
        { code: 0 },
        { code: 3 },
      ]);
    },
    LONG_MS,
  );
});

describe('links', () => {
  it('lead to a file and a heading that exist', () => {
    expect(documents.length).toBeGreaterThan(10);
    expect(documents.flatMap((document) => brokenLinks(document, documents))).toEqual([]);
  });

  it('lead from the index to every document', () => {
    const { links } = documentAt('docs/README.md');
    const targets = links.map(({ target }) => target.split('#')[0]);
    const missing = documents
      .map(({ path }) => /^docs\/([\w-]+\.md)$/.exec(path)?.[1])
      .filter((name) => name !== undefined && name !== 'README.md' && !targets.includes(name));
    expect(missing).toEqual([]);
  });
});

describe('docs/options.md', () => {
  const shell = 'leasehold/src/pool/shell';
  it.each([
    ['joinPool', [[`${shell}/owner/join-pool.ts`, 'JoinPoolOptions']]],
    ['moves of joinPool', [[`${shell}/moves/moves-options.ts`, 'MovesOptions']]],
    ['owner.drain', [[`${shell}/owner/drain.ts`, 'DrainOptions']]],
    ['connectLookup', [[`${shell}/lookup/connect-lookup.ts`, 'ConnectLookupOptions']]],
    ['owner.leasedMap', [[`${shell}/state/leased-map-options.ts`, 'LeasedMapOptions']]],
    ['lookup.call', [[`${shell}/lookup/call-owner.ts`, 'LookupCallOptions']]],
    [
      'startManager',
      [
        [`${shell}/manager/start-manager.ts`, 'StartManagerOptions'],
        [`${shell}/manager/configuration.ts`, 'ManagerConfiguration'],
      ],
    ],
    ['A store in a directory', [[`${shell}/manager/store.ts`, 'DirectoryStore']]],
    ['A store in etcd', [[`${shell}/manager/etcd-options.ts`, 'EtcdStore']]],
    ['etcd of a store', [[`${shell}/manager/etcd-options.ts`, 'Etcd']]],
    ['planRecovery', [[`${shell}/manager/recover.ts`, 'PlanRecoveryOptions']]],
    [
      'A pool',
      [
        [`${shell}/manager/configuration.ts`, 'PoolConfiguration'],
        ['leasehold/src/pool/core/options.ts', 'PoolDurations'],
      ],
    ],
    ['supervise', [[`${shell}/supervise.ts`, 'SuperviseOptions']]],
    [
      'joinFlease',
      [
        ['leasehold/src/flease/shell/join-flease.ts', 'JoinFleaseOptions'],
        ['leasehold/src/flease/core/options.ts', 'FleaseDurations'],
      ],
    ],
    ['serveStatus', [['leasehold/src/node/service/serve-status.ts', 'ServeStatusOptions']]],
    [
      'startReplica',
      [
        ['leasehold/src/quorum/shell/start-replica.ts', 'StartReplicaOptions'],
        ['leasehold/src/quorum/core/options.ts', 'QuorumDurations'],
      ],
    ],
    ['connectQuorum', [['leasehold/src/quorum/shell/connect-quorum.ts', 'ConnectQuorumOptions']]],
    [
      'joinGroup',
      [
        ['leasehold/src/membership/shell/join-group.ts', 'JoinGroupOptions'],
        ['leasehold/src/membership/shell/view.ts', 'GroupCallbacks'],
      ],
    ],
    ['etcd of joinGroup', [['leasehold/src/membership/shell/registry.ts', 'GroupEtcd']]],
    [
      'connectGroup',
      [
        ['leasehold/src/membership/shell/connect-group.ts', 'ConnectGroupOptions'],
        ['leasehold/src/membership/shell/view.ts', 'GroupCallbacks'],
      ],
    ],
    [
      'ratelimit',
      [
        ['leasehold/src/ratelimit/core/local/rate.ts', 'RateOptions'],
        ['leasehold/src/ratelimit/shell/ratelimit.ts', 'RateLimitOptions'],
      ],
    ],
    ['spread of a limit', [['leasehold/src/ratelimit/shell/spread/spread-options.ts', 'SpreadOptions']]],
    ['joinLimits', [['leasehold/src/ratelimit/shell/limits-on-pool.ts', 'JoinLimitsOnPoolOptions']]],
    [
      'joinLimits in a group',
      [['leasehold/src/ratelimit/shell/limits-in-group.ts', 'JoinLimitsInGroupOptions']],
    ],
    ['defineObject', [['leasehold/src/objects/core/define-object.ts', 'ObjectDefinition']]],
    ['localObjects', [['leasehold/src/objects/shell/local-objects.ts', 'LocalObjectsOptions']]],
    ['A call of an object', [['leasehold/src/objects/core/define-object.ts', 'ObjectCallOptions']]],
  ] as const)('has every option of %s, and no other', (heading, interfaces) => {
    const handles = sourceAt('leasehold/src/runtime/handle.ts');
    const declared = interfaces.flatMap(([path, name]) => allOptionsOf(sourceAt(path), name, handles));
    expect(declared.length).toBeGreaterThan(0);
    expect([...namesUnder(documentAt('docs/options.md'), heading)].sort()).toEqual([...declared].sort());
  });

  it.each([
    ['joinPool', JOIN_POOL_OPTIONS],
    ['moves of joinPool', MOVES_OPTIONS],
    ['owner.drain', DRAIN_OPTIONS],
    ['connectLookup', CONNECT_LOOKUP_OPTIONS],
    ['owner.leasedMap', LEASED_MAP_OPTIONS],
    ['lookup.call', CALL_OPTIONS],
    ['startManager', START_MANAGER_OPTIONS],
    ['A store in a directory', DIRECTORY_STORE_OPTIONS],
    ['A store in etcd', ETCD_STORE_OPTIONS],
    ['etcd of a store', ETCD_OPTIONS],
    ['planRecovery', RECOVERY_OPTIONS],
    ['A pool', POOL_OPTIONS],
    ['supervise', SUPERVISE_OPTIONS],
    ['joinFlease', JOIN_FLEASE_OPTIONS],
    ['serveStatus', SERVE_STATUS_OPTIONS],
    ['startReplica', START_REPLICA_OPTIONS],
    ['connectQuorum', CONNECT_QUORUM_OPTIONS],
    ['ratelimit', RATELIMIT_OPTIONS],
    ['spread of a limit', SPREAD_OPTIONS],
    ['joinLimits', JOIN_LIMITS_ON_POOL_OPTIONS],
    ['joinLimits in a group', JOIN_LIMITS_IN_GROUP_OPTIONS],
    ['joinGroup', JOIN_GROUP_OPTIONS],
    ['etcd of joinGroup', GROUP_ETCD_OPTIONS],
    ['connectGroup', CONNECT_GROUP_OPTIONS],
    ['defineObject', DEFINE_OBJECT_OPTIONS],
    ['localObjects', LOCAL_OBJECTS_OPTIONS],
    ['A call of an object', OBJECT_CALL_OPTIONS],
  ] as const)(
    'has the default and the rule of each option of %s, as its table in the source has them',
    (heading, table) => {
      const rows = (documentAt('docs/options.md').rows.get(heading) ?? []).slice(2);
      const said = rows.map(([name = '', fallback, ...rest]) => [name, fallback, rest.at(-1) ?? ''] as const);
      expect(said.map(([name, fallback, text]) => `${name} | ${fallback} | ${text}`)).toEqual(
        said.map(([name, , text]) => {
          const row = (table as Readonly<Record<string, OptionRow<unknown>>>)[name.replaceAll('`', '')];
          if (row === undefined) return `there is no option ${name}`;
          const rule = row.rule.charAt(0).toUpperCase() + row.rule.slice(1);
          const words = row.presence === 'required' ? 'required' : row.words;
          return `${name} | ${words} | ${text.startsWith(rule) ? text : `${rule}. ${text}`}`;
        }),
      );
    },
  );
});

describe('the index of decisions', () => {
  it('has every decision, once and in order', () => {
    const numbered = documents.flatMap(
      ({ path }) => /^docs\/decisions\/(\d{4}-.*\.md)$/.exec(path)?.[1] ?? [],
    );
    const listed = documentAt('docs/decisions/README.md').links.map(({ target }) => target);
    expect(numbered.length).toBeGreaterThan(50);
    expect(listed).toEqual([...numbered].sort());
  });
});

/** In the last column of tables with the heading "held by", names of mutants; names of files are checked elsewhere. */
function holdersIn({ rows }: Document): readonly string[] {
  const all = [...rows.values()].flat();
  const heads = all.flatMap((_, index) => (/^-+$/.test(all[index + 1]?.[0] ?? '') ? [index] : []));
  return heads.flatMap((head, turn) =>
    all[head]?.at(-1) === 'held by'
      ? all
          .slice(head + 2, heads[turn + 1])
          .flatMap((row) => [...(row.at(-1) ?? '').matchAll(/`([a-z0-9]+(?:-[a-z0-9]+)+)`/g)])
          .map(([, name = '']) => name)
      : [],
  );
}

/** Numbers of rules in the comments of a source: `(P1)`, `(L2, L3)`. */
const ruleNumbersIn = ({ text, code }: Source): readonly string[] =>
  [...text.matchAll(/\(([A-Z]\d{1,2}(?:, ?[A-Z]\d{1,2}| to [A-Z]\d{1,2})*)\)/g)]
    .filter(({ 0: all, index }) => code.slice(index, index + all.length) !== all)
    .flatMap(([, list = '']) => list.split(/, ?| to /));

describe('the rules of each module', () => {
  const mutants = new Set(
    files
      .filter(({ path }) => /mutants\.ts$/.test(path))
      .flatMap(({ code }) => [...code.matchAll(/\bname: '([\w-]+)'/g)].map(([, name]) => name)),
  );

  it('are held by mutants that there are', () => {
    const pages = documents.filter(({ path }) => /^(?:docs\/design|leasehold\/src)\//.test(path));
    const named = pages.flatMap((page) => holdersIn(page).map((name) => ({ path: page.path, name })));
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ name }) => !mutants.has(name))).toEqual([]);
  });

  it('have a row for each number that a comment names', () => {
    expect(ruleNumbersIn(source('a.ts', "f('(A1)'); // (P1, L5) and (L1 to L4)"))).toEqual([
      'P1',
      'L5',
      'L1',
      'L4',
    ]);
    const pages = new Map(
      documents.flatMap(({ path, rows }) => {
        const module = /^docs\/design\/(\w+)\.md$/.exec(path)?.[1];
        const numbers = [...rows.values()].flat().flatMap(([first = '']) => first.match(/[A-Z]\d+/g) ?? []);
        return module === undefined ? [] : [[module, new Set(numbers)] as const];
      }),
    );
    const unknown = files.filter(isCode).flatMap((file) => {
      const module = /^leasehold\/src\/(\w+)\//.exec(file.path)?.[1];
      if (module === undefined) return [];
      return ruleNumbersIn(file)
        .filter((number) => !pages.get(module)?.has(number))
        .map((number) => `${file.path}: ${number}`);
    });
    expect(unknown).toEqual([]);
  });
});

/** In a walk (a number, files, what happens): names in the last column that no file of the row has. */
function strangersIn({ rows }: Document, sources: readonly Source[]): readonly string[] {
  const quoted = (cell: string): readonly string[] =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  const steps = [...rows.values()].flat().filter(([first = '']) => /^\d+$/.test(first));
  return steps.flatMap(([, places = '', happens = '']) => {
    const mine = sources.filter(({ path }) =>
      quoted(places).some(
        (place) => `/${path}`.endsWith(`/${place}`) || path.includes(`/${place.replace(/\/$/, '')}/`),
      ),
    );
    const names = quoted(happens).filter((name) => /^#?\w+$/.test(name));
    return names.filter((name) => !mine.some(({ text }) => text.includes(name)));
  });
}

describe('the walks in ARCHITECTURE.md', () => {
  it('name what the files of each step have', () => {
    const walk = readDocument(
      'a.md',
      '# A\n\n| | file | |\n|---|---|---|\n| 1 | `b/c.ts`, `d/` | `one` and `two` |\n',
    );
    const there = [source('x/b/c.ts', 'const one = 1;'), source('x/e.ts', 'const two = 2;')];
    expect(strangersIn(walk, there)).toEqual(['two']);
    expect(strangersIn(walk, [...there, source('x/d/f.ts', 'two()')])).toEqual([]);
    expect(strangersIn(documentAt('ARCHITECTURE.md'), files.filter(isCode))).toEqual([]);
  });
});

describe('the skeleton of a protocol in CONTRIBUTING.md', () => {
  const rows = documentAt('CONTRIBUTING.md').rows.get('Adding a protocol') ?? [];
  const files = rows.flatMap(([name = '', lines = '']) => {
    const file = /^`(\w+\.ts)`$/.exec(name)?.[1];
    return file === undefined ? [] : [{ file, lines: Number(lines) }];
  });

  it('has the lines that are said, fewer than 300 in all', () => {
    for (const { file, lines } of files) {
      const { text } = sourceAt(`examples/heartbeat/${file}`);
      expect({ file, lines: text.trimEnd().split('\n').length }).toEqual({ file, lines });
    }
    const all = files.reduce((sum, { lines }) => sum + lines, 0);
    expect(all).toBeGreaterThan(100);
    expect(all).toBeLessThan(300);
  });
});

describe('the log lines in docs/production-one-machine.md and docs/flease.md', () => {
  const described = documents
    .flatMap(({ rows }) => rows.get('Log lines') ?? [])
    .flatMap(([first = '']) =>
      [...first.matchAll(/`([^`]+)`/g)].map(([, words = '']) => words.split('…')[0] ?? ''),
    )
    .map((words) => words.trim())
    .filter((words) => words !== '');
  const said = files
    .filter(({ path }) => /^(?:leasehold\/src\/(?:node|log|pool|flease)|apps\/cli\/src)\//.test(path))
    .filter(({ path }) => !/\.test\.ts$|script\.ts$|\/(?:simulation|testing|etcd)\/|\/etcd-/.test(path))
    .flatMap((file) => logLinesOf(file).map((line) => ({ line, path: file.path })));

  it('have all that is said', () => {
    expect(said.length).toBeGreaterThan(40);
    const missing = said.filter(
      ({ line }) => !described.some((words) => line.startsWith(words) || words.startsWith(line.trimEnd())),
    );
    expect(missing).toEqual([]);
  });
});

describe('figures in the documents', () => {
  it('name one bound within which a loss is told, as the code derives it', () => {
    const bound = `${(lossBoundMs(resolveDurations()) / 1_000).toFixed(1)} s`;
    const said = files
      .filter(({ path }) => path.endsWith('.md') && !path.includes('decisions') && path !== 'CHANGELOG.md')
      .flatMap(({ path, text }) =>
        [...text.matchAll(/(\d+(?:\.\d+)? s)(?: of its commit| for a loss)/g)].map(
          ([, figure]) => `${path}: ${figure}`,
        ),
      );
    expect(said.sort()).toEqual([`docs/concepts.md: ${bound}`, `docs/pool.md: ${bound}`]);
  });
});

/** Whose retry might do the same work twice. */
const UNKNOWN = new Set(['LeaseLostError', 'OutcomeUnknownError']);

const NINE = new Set([
  ...UNKNOWN,
  'InvalidArgumentError',
  'NotOwnerError',
  'UnavailableError',
  'InUseError',
  'RefusedError',
  'ClosedError',
  'StorageError',
]);

describe('docs/errors.md', () => {
  const code = files.filter(
    (file) =>
      isCode(file) &&
      /^(?:leasehold\/src|apps\/cli\/src)\//.test(file.path) &&
      !/\.test\.ts$/.test(file.path),
  );
  const declared = code.flatMap(errorsOf);
  const isOne = (name: string): boolean => NINE.has(name) && declared.every((single) => single.name !== name);
  const described = [...documentAt('docs/errors.md').rows.values()]
    .flat()
    .flatMap(([codes, name, again, advice]) => {
      const className = /^`(\w+Error|\w+Problem)`$/.exec(name ?? '')?.[1];
      if (className === undefined) return [];
      return [...(codes ?? '').matchAll(/`(\w+)`/g)].map(([, found = '']) => ({
        ...{ code: found, name: className },
        ...{ again: again ?? '', advice: advice ?? '' },
      }));
    });
  const said = ({ retryable }: DeclaredError): string =>
    retryable === undefined ? 'depends' : retryable ? 'yes' : 'no';

  it('has every code of every error, and whether the same call may succeed later', () => {
    const missing = declared.flatMap((error) => {
      const rows = described.filter(({ name }) => name === error.name);
      const isThere = (wanted: string): boolean =>
        rows.some(
          ({ code, again }) => code === wanted && (again === said(error) || said(error) === 'depends'),
        );
      if (error.codes !== undefined) return error.codes.filter((wanted) => !isThere(wanted));
      return rows.length > 0 ? [] : [error.name];
    });
    expect(missing).toEqual([]);
  });

  it('has every code that one of the nine classes is thrown with', () => {
    const thrown = [...new Set(code.flatMap(thrownIn))];
    expect(thrown.length).toBeGreaterThan(5);
    const rows = new Set(described.map(({ name, code: written }) => `${name} ${written}`));
    expect(thrown.filter((error) => isOne(error.split(' ')[0] ?? '') && !rows.has(error))).toEqual([]);
  });

  it('calls none retryable whose outcome is unknown', () => {
    const wrong = described.filter(({ name, again }) => isOne(name) && UNKNOWN.has(name) && again !== 'no');
    expect(wrong).toEqual([]);
  });

  it('has no code that nothing has', () => {
    const thrown = new Set(code.flatMap(thrownIn));
    const invented = described.filter(({ code: wanted, name }) => {
      if (thrown.has(`${name} ${wanted}`)) return false;
      if (declared.every((single) => single.name !== name))
        return !code.some((file) => new RegExp(`'${wanted}'|\\b${wanted}: `).test(file.code));
      const classes = declared.filter((error) => error.name === name);
      if (classes.some(({ codes }) => codes?.includes(wanted))) return false;
      const isSaidByOthers = classes.some(({ codes }) => codes === undefined);
      return (
        !isSaidByOthers || !code.some((file) => new RegExp(`'${wanted}'|\\b${wanted}: '`).test(file.code))
      );
    });
    expect(invented).toEqual([]);
  });

  it('says of each what to do', () => {
    expect(described.filter(({ again }) => !/^(?:yes|no|only .+)$/.test(again))).toEqual([]);
    expect(described.filter(({ advice }) => advice.length < 20)).toEqual([]);
  });
});

describe('code in the documents', () => {
  const project = new ExampleProject(documents);
  afterAll(() => project[Symbol.dispose]());

  it(
    'compiles',
    async () => {
      expect(project.examples.length).toBeGreaterThan(5);
      expect(await project.compile()).toEqual([]);
    },
    LONG_MS,
  );

  it('is run where it is whole: in the README and in the quick start, too', () => {
    const running = project.examples.filter(({ runs }) => runs).map(({ place }) => place.split(':')[0]);
    expect(running).toEqual(expect.arrayContaining(['README.md', 'docs/quick-start.md']));
  });

  it.each(project.examples.filter(({ runs }) => runs).map((example) => [example.place, example] as const))(
    'runs: %s',
    async (_, example) => {
      const { code, out } = await project.run(example);
      expect(code, out).toBe(0);
      if (example.prints !== undefined) expect(out).toBe(example.prints);
    },
    LONG_MS,
  );

  it(
    'leaves its pool in order, also if a signal comes more than once: the server of the quick start',
    async () => {
      const example = project.examples.find(({ file }) => file.endsWith('quick-start/server.ts'));
      const manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
      const port = await lastingPort();
      const started = await project.start(example, ['server-1', String(port)], {
        LEASEHOLD_MANAGERS: manager.address,
      });
      try {
        const asks = () => fetch(`http://127.0.0.1:${port}/alice`).catch(() => undefined);
        await vi.waitUntil(async () => (await asks())?.status === 200, { timeout: LONG_MS });
        const unfinished = connect(port, '127.0.0.1').on('error', () => {});
        await new Promise((resolve) => unfinished.write('GET / HTTP/1.1\r\n', resolve)); // keeps the server open
        const ended = once(started, 'exit');
        started.kill('SIGTERM');
        const firstAt = performance.now();
        await vi.waitUntil(() => manager.observe().owners.length === 0, { timeout: LONG_MS, interval: 1 });
        if (performance.now() - firstAt < 500) started.kill('SIGTERM'); // later it would not be a copy
        unfinished.destroy();
        expect(await ended).toEqual([0, null]);
      } finally {
        started.kill('SIGKILL');
        await manager.close();
      }
    },
    LONG_MS,
  );

  it(
    'does not call it a fault of its own that it has not joined yet: the server of the quick start',
    async () => {
      const server = project.examples.find(({ file }) => file.endsWith('quick-start/server.ts'));
      const port = await lastingPort();
      const started = await project.start(server, ['server-1', String(port)], {
        LEASEHOLD_MANAGERS: `127.0.0.1:${await lastingPort()}`,
      });
      try {
        const answer = await vi.waitUntil(
          () => fetch(`http://127.0.0.1:${port}/alice`).catch(() => undefined),
          {
            timeout: LONG_MS,
          },
        );
        expect(isMisdirected(answer), 'so that callers ask again').toBe(true);
        expect(await answer.text()).toContain('server-1 has not joined yet');
      } finally {
        started.kill('SIGKILL');
      }
    },
    LONG_MS,
  );
});
