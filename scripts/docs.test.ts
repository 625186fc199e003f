/**
 * What the documents say is so: links lead somewhere, every option and every error is there with its
 * facts, and the code compiles and runs. First the checks themselves are shown something wrong.
 */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname, join, normalize } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { JOIN_FLEASE_OPTIONS } from '../leasehold/src/flease/shell/join-flease.ts';
import { SERVE_OPTIONS } from '../leasehold/src/node/service/serve-service.ts';
import { CALL_OPTIONS } from '../leasehold/src/pool/shell/call-owner.ts';
import { POOL_OPTIONS } from '../leasehold/src/pool/shell/configuration.ts';
import { JOIN_POOL_OPTIONS } from '../leasehold/src/pool/shell/join-pool.ts';
import { OPEN_LOOKUP_OPTIONS } from '../leasehold/src/pool/shell/open-lookup.ts';
import { RECOVERY_OPTIONS } from '../leasehold/src/pool/shell/recover.ts';
import { START_MANAGER_OPTIONS } from '../leasehold/src/pool/shell/start-manager.ts';
import { ETCD_STORE_OPTIONS } from '../leasehold/src/pool/shell/store.ts';
import { SUPERVISE_OPTIONS } from '../leasehold/src/pool/shell/supervise-command.ts';
import { lossBoundMs, resolveDurations } from '../leasehold/src/pool/options.ts';
import { startManager } from '../leasehold/src/pool/shell/start-manager.ts';
import type { OptionRow } from '../leasehold/src/runtime/option-table.ts';
import { type DeclaredError, errorsOf, logLinesOf, membersOf, optionsOf } from './docs/declarations.ts';
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

/** One that nobody listens on. */
const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0));
    });
  });

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

  it('read what can be asked of an object, but not what is its own business', () => {
    const text = [
      'export class Thing<T> implements Disposable {',
      '  static readonly empty: Thing = new Thing();',
      '  readonly a: string;',
      '  readonly #b = 1;',
      '  /** @internal */',
      '  constructor(a: string) {}',
      '  get c(): string {',
      '    return this.d(1);',
      '  }',
      '  /** Says so. */',
      '  async d<T>(e: T): Promise<T> {}',
      '  async *e(): AsyncGenerator<T> {}',
      '  /** @internal For us. */',
      '  f(): void {}',
      '  private g(): void {}',
      '  [Symbol.dispose](): void {}',
      '}',
      'interface Other { h(): void }',
    ];
    expect(membersOf(source('a.ts', text.join('\n')), 'Thing')).toEqual(['empty', 'a', 'c', 'd', 'e']);
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
      "class A extends LeaseholdError {\n  readonly code = 'A_CODE';\n  readonly retryable = true;\n}",
      "class B extends LeaseholdError {\n  readonly code: 'B' | 'C';\n  readonly retryable: boolean;\n}",
      'class D extends LeaseholdError {\n  readonly code: string;\n  readonly retryable = false;\n}',
    ];
    expect(errorsOf(source('a.ts', text.join('\n')))).toEqual([
      { name: 'A', path: 'a.ts', codes: ['A_CODE'], retryable: true },
      { name: 'B', path: 'a.ts', codes: ['B', 'C'], retryable: undefined },
      { name: 'D', path: 'a.ts', codes: undefined, retryable: false },
    ]);
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
    ['joinPool', [[`${shell}/join-pool.ts`, 'JoinOptions']]],
    ['openLookup', [[`${shell}/open-lookup.ts`, 'OpenLookupOptions']]],
    ['lookup.call', [[`${shell}/call-owner.ts`, 'CallOptions']]],
    [
      'startManager',
      [
        [`${shell}/start-manager.ts`, 'StartManagerOptions'],
        [`${shell}/configuration.ts`, 'ManagerConfiguration'],
      ],
    ],
    ['A store in etcd', [[`${shell}/store.ts`, 'EtcdStore']]],
    ['planRecovery', [[`${shell}/recover.ts`, 'RecoveryOptions']]],
    [
      'A pool',
      [
        [`${shell}/configuration.ts`, 'PoolConfiguration'],
        ['leasehold/src/pool/options.ts', 'PoolDurations'],
      ],
    ],
    ['superviseCommand', [[`${shell}/supervise-command.ts`, 'SuperviseCommandOptions']]],
    [
      'joinFlease',
      [
        ['leasehold/src/flease/shell/join-flease.ts', 'JoinFleaseOptions'],
        ['leasehold/src/flease/options.ts', 'FleaseDurations'],
      ],
    ],
    ['serveFlease', [['leasehold/src/node/service/serve-service.ts', 'ServeOptions']]],
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
        ['leasehold/src/membership/shell/group.ts', 'ClientCallbacks'],
        ['leasehold/src/membership/shell/group.ts', 'GroupCallbacks'],
      ],
    ],
    ['etcd of joinGroup', [['leasehold/src/membership/shell/registry.ts', 'GroupEtcd']]],
    [
      'joinGroup as a client',
      [
        ['leasehold/src/membership/shell/join-client.ts', 'JoinGroupClientOptions'],
        ['leasehold/src/membership/shell/group.ts', 'ClientCallbacks'],
      ],
    ],
    ['serveGroup', [['leasehold/src/node/service/serve-service.ts', 'ServeOptions']]],
    ['shareLimits', [['leasehold/src/ratelimit/shell/share-limits.ts', 'ShareLimitsOptions']]],
    [
      'ratelimit',
      [
        ['leasehold/src/ratelimit/core/rate.ts', 'RateOptions'],
        ['leasehold/src/ratelimit/shell/ratelimit.ts', 'RateLimitOptions'],
        ['leasehold/src/ratelimit/spread/shell/spread-options.ts', 'SpreadOptions'],
      ],
    ],
  ] as const)('has every option of %s, and no other', (heading, interfaces) => {
    const declared = interfaces.flatMap(([path, name]) => optionsOf(sourceAt(path), name));
    expect(declared.length).toBeGreaterThan(0);
    expect([...namesUnder(documentAt('docs/options.md'), heading)].sort()).toEqual([...declared].sort());
  });

  it.each([
    ['joinPool', JOIN_POOL_OPTIONS],
    ['openLookup', OPEN_LOOKUP_OPTIONS],
    ['lookup.call', CALL_OPTIONS],
    ['startManager', START_MANAGER_OPTIONS],
    ['A store in etcd', ETCD_STORE_OPTIONS],
    ['planRecovery', RECOVERY_OPTIONS],
    ['A pool', POOL_OPTIONS],
    ['superviseCommand', SUPERVISE_OPTIONS],
    ['joinFlease', JOIN_FLEASE_OPTIONS],
    ['serveFlease', SERVE_OPTIONS],
  ] as const)(
    'has the default and the rule of each option of %s, as its table in the source has them',
    (heading, table) => {
      const rows = (documentAt('docs/options.md').rows.get(heading) ?? []).slice(2);
      const said = rows.map(([name = '', fallback, ...rest]) => [name, fallback, rest.at(-1) ?? ''] as const);
      expect(said.map(([name, fallback, text]) => `${name} | ${fallback} | ${text}`)).toEqual(
        said.map(([name, fallback, text]) => {
          const row = (table as Readonly<Record<string, OptionRow<unknown>>>)[name.replaceAll('`', '')];
          if (row === undefined) return `there is no option ${name}`;
          const rule = row.rule.charAt(0).toUpperCase() + row.rule.slice(1);
          const isPortOfService = row.presence === 'optional' && row.words === "the service's own";
          const words = row.presence === 'required' ? 'required' : isPortOfService ? fallback : row.words;
          return `${name} | ${words} | ${text.startsWith(rule) ? text : `${rule}. ${text}`}`;
        }),
      );
    },
  );
});

describe('docs/reference.md', () => {
  const shell = 'leasehold/src/pool/shell';
  it.each([
    ['PoolOwner', `${shell}/pool-owner.ts`],
    ['HeldKey', `${shell}/held-keys.ts`],
    ['LeasedMap', `${shell}/leased-map.ts`],
    ['PoolLookup', `${shell}/pool-lookup.ts`],
    ['Loss', `${shell}/pool-lookup.ts`],
    ['RangeSet', 'leasehold/src/runtime/keys/range-set.ts'],
    ['PoolManager', `${shell}/pool-manager.ts`],
    ['SupervisedEnd', `${shell}/supervision/supervised-end.ts`],
    ['Flease', 'leasehold/src/flease/shell/flease.ts'],
    ['FleaseLease', 'leasehold/src/flease/shell/flease-lease.ts'],
  ])('has every public member of %s, and no other', (name, path) => {
    const rows = documentAt('docs/reference.md').rows.get(name) ?? [];
    const described = rows.flatMap(([first = '']) => /^`(?:[A-Z]\w+\.)?(\w+)/.exec(first)?.[1] ?? []);
    const declared = membersOf(sourceAt(path), name);
    expect(declared.length).toBeGreaterThan(2);
    expect([...described].sort()).toEqual([...declared].sort());
  });

  it('has all that the status of a member of a group says, and no more', () => {
    const declared = optionsOf(sourceAt('leasehold/src/flease/shell/status.ts'), 'FleaseStatus');
    expect(declared).toContain('recovery');
    expect([...namesUnder(documentAt('docs/reference.md'), 'FleaseStatus')].sort()).toEqual(
      [...declared].sort(),
    );
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

describe('docs/errors.md', () => {
  const code = files.filter(
    (file) =>
      isCode(file) &&
      /^(?:leasehold\/src|apps\/cli\/src)\//.test(file.path) &&
      !/\.test\.ts$/.test(file.path),
  );
  const declared = code.flatMap(errorsOf);
  const described = [...documentAt('docs/errors.md').rows.values()]
    .flat()
    .flatMap(([codes, name, again, advice]) => {
      const found = /^`(\w+)`$/.exec(codes ?? '')?.[1];
      const className = /^`(\w+)`$/.exec(name ?? '')?.[1];
      return found === undefined || className === undefined
        ? []
        : [{ code: found, name: className, again: again ?? '', advice: advice ?? '' }];
    });
  const said = ({ retryable }: DeclaredError): string =>
    retryable === undefined ? 'depends' : retryable ? 'yes' : 'no';

  it('has every code of every error, and whether the same call may succeed later', () => {
    expect(declared.length).toBeGreaterThan(20);
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

  it('has no code that nothing has', () => {
    const invented = described.filter(({ code: wanted, name }) => {
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
      const manager = await startManager({ port: 0, http: false, firstStart: true });
      const port = await freePort();
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
      const port = await freePort();
      const started = await project.start(server, ['server-1', String(port)], {
        LEASEHOLD_MANAGERS: `127.0.0.1:${await freePort()}`,
      });
      try {
        const answer = await vi.waitUntil(
          () => fetch(`http://127.0.0.1:${port}/alice`).catch(() => undefined),
          {
            timeout: LONG_MS,
          },
        );
        expect([answer.status, await answer.text()]).toEqual([503, 'server-1 has not joined yet\n']);
      } finally {
        started.kill('SIGKILL');
      }
    },
    LONG_MS,
  );
});
