/**
 * The house rules that a machine can check. First the checks themselves are shown something bad,
 * since a check that cannot fail checks nothing; then the repository.
 */

import { describe, expect, it } from 'vitest';
import { root } from './project.mjs';
import { cyclesIn } from './tidy/cycles.ts';
import { isCode, readRepository } from './tidy/files.ts';
import { importComplaints } from './tidy/imports.ts';
import { limitComplaints } from './tidy/limits.ts';
import { codeComplaints, lockComplaints, placeComplaints } from './tidy/manners.ts';
import { source } from './tidy/source.ts';
import { mentionComplaints } from './tidy/mentions.ts';
import { surroundingsComplaints } from './tidy/surroundings.ts';

const src = (path: string, text: string) => source(`leasehold/src/${path}`, text);
const imports = (path: string, module: string) =>
  importComplaints(src(path, `import { x } from '${module}';`));

describe('reading a source', () => {
  it('leaves out comments, but not what looks like one inside quotes', () => {
    const { code } = source('a.ts', "a('// no'); // yes\n/* yes */ b(`/* ${c /* yes */} no */`);");
    expect(code).toBe("a('// no');       \n          b(`/* ${c          } no */`);");
  });

  it('leaves out what is quoted, but not the code within a template', () => {
    const { bare } = source('a.ts', "f('x\\'y', `a ${g({ b: `c` })} d`, /['\"`]/.test(h)) / 2;");
    expect(bare).toBe("f('    ', `  ${g({ b: ` ` })}  `, /     /.test(h)) / 2;");
  });
});

describe('imports', () => {
  it.each([
    ['runtime/keys/a.ts', '../../sim/world.ts'],
    ['runtime/a.test.ts', '../sim/world.ts'],
    ['sim/world.ts', '../pool/core/table.ts'],
    ['node/clock.ts', '../log/log.ts'],
    ['log/file.ts', '../sim/disk.ts'],
    ['log/simulated-log.ts', '../sim/disk.ts'],
    ['pool/core/owner/owner.ts', '../../../sim/world.ts'],
    ['pool/core/owner/owner.ts', '../../../quorum/paxos.ts'],
    ['pool/core/owner/owner.ts', '../../../node/clock.ts'],
    ['quorum/simulation/index.ts', '../../pool/core/table.ts'],
    ['sundry/a.ts', '../runtime/time.ts'],
    ['pool/core/owner/owner.ts', '../index.ts'],
    ['pool/owner.test.ts', './index.ts'],
    ['pool/core/owner/owner.ts', 'leasehold/runtime'],
  ])('%s must not import %s', (path, module) => {
    expect(imports(path, module)).toHaveLength(1);
  });

  it.each([
    ['runtime/keys/a.ts', '../time.ts'],
    ['runtime/a.ts', './keys/index.ts'],
    ['sim/world.ts', '../runtime/keys/index.ts'],
    ['log/file.ts', '../runtime/time.ts'],
    ['log/file.test.ts', '../sim/disk.ts'],
    ['pool/core/owner/owner.ts', '../../../log/log.ts'],
    ['pool/core/owner/owner.ts', '../manager/index.ts'],
    ['pool/core/owner/owner.test.ts', '../../../sim/world.ts'],
    ['pool/shell/owner/join-pool.ts', '../../../node/runtime.ts'],
    ['log/file/file-log.test.ts', '../../node/storage.ts'],
    ['etcd/testing/etcd-cluster.ts', '../../node/runtime.ts'],
    ['etcd/simulation/simulated-etcd.ts', '../../sim/world.ts'],
    ['membership/etcd/keeper.ts', '../../etcd/client.ts'],
    ['pool/simulation/world.ts', '../../sim/index.ts'],
    ['pool/core/owner/owner.ts', 'fast-check'],
  ])('%s may import %s', (path, module) => {
    expect(imports(path, module)).toEqual([]);
  });

  it('of the command line go through published names and one internal door', () => {
    const from = (path: string) =>
      importComplaints(source(path, "import { x } from '../../../leasehold/src/node/process/child.ts';"));
    expect(from('apps/cli/src/run.ts')).toHaveLength(1);
    expect(from('apps/cli/src/run.test.ts')).toEqual([]);
    const door = "import { x } from 'leasehold/internal';";
    expect(importComplaints(source('apps/cli/src/run.ts', door))).toEqual([]);
  });

  it.each([
    "import '../sim/a.ts';",
    "import type { A } from '../sim/a.ts';",
    "export * from '../sim/a.ts';",
    "const a = await import('../sim/a.ts');",
    "import {\n  a,\n  b,\n} from '../sim/a.ts';",
  ])('are found however they are written: %s', (text) => {
    expect(importComplaints(src('runtime/a.ts', text))).toHaveLength(1);
  });
});

describe('surroundings', () => {
  it.each([
    'const at = Date.now();',
    'const at = new Date();',
    'const at = performance.now();',
    'const { now } = performance;',
    'setTimeout(f, 1);',
    'globalThis.setInterval(f, 1);',
    'setImmediate(f);',
    'const s = AbortSignal.timeout(5);',
    'const r = Math.random();',
    'const id = crypto.randomUUID();',
    'const id = randomBytes(8);',
    'const t = process.hrtime.bigint();',
    'const text = `${Date.now()}`;',
    "import { connect } from 'node:net';",
    "import { connect } from 'tls';",
    "import { createSocket } from 'node:dgram';",
    "import { get } from 'node:http';",
    "import { readFileSync } from 'node:fs';",
    "import { open } from 'node:fs/promises';",
    "import { createHash } from 'node:crypto';",
  ])('are not touched by a protocol: %s', (text) => {
    expect(surroundingsComplaints(src('pool/core/owner/owner.ts', text))).toHaveLength(1);
    expect(surroundingsComplaints(src('node/clock.ts', text))).toEqual([]);
  });

  it.each([
    '// Date.now() would be wrong here.',
    "throw new Error('setTimeout is missing');",
    'const performanceGoal = options.performance;',
    'interface Options { readonly performance: number }',
    "import { inspect } from 'node:util';",
  ])('are not touched by this: %s', (text) => {
    expect(surroundingsComplaints(src('pool/core/owner/owner.ts', text))).toEqual([]);
  });

  it('may be touched by a test, and a hash be computed in one place', () => {
    expect(surroundingsComplaints(src('pool/owner.test.ts', 'Math.random()'))).toEqual([]);
    expect(surroundingsComplaints(src('etcd/testing/a.ts', 'Math.random()'))).toEqual([]);
    const text = "import { createHash } from 'node:crypto';";
    expect(surroundingsComplaints(src('runtime/digest.ts', text))).toEqual([]);
  });

  it('are complained about with their line', () => {
    const [complaint] = surroundingsComplaints(src('pool/a.ts', '\n/* two\n   lines */ Math.random();'));
    expect(complaint).toBe('leasehold/src/pool/a.ts:3: Math.random is for node/ alone; ask the Runtime');
  });
});

describe('manners', () => {
  it.each([
    `// ${'TO'}DO: later`,
    `/* ${'FIX'}ME */`,
    "it.only('works', () => {});",
    "describe.skip('works', () => {});",
    'export default 3;',
    'const a = 3;\nexport { a as default };',
  ])('are minded: %j', (text) => {
    expect(codeComplaints(src('pool/a.ts', text))).toHaveLength(1);
  });

  it.each(["cursor.skip('x');", "f('it.only');", '// The default export is forbidden.'])(
    'have nothing against this: %j',
    (text) => {
      expect(codeComplaints(src('pool/a.ts', text))).toEqual([]);
    },
  );

  it('let a configuration export a default, because its reader wants one', () => {
    expect(codeComplaints(source('vitest.config.ts', 'export default {};'))).toEqual([]);
  });

  it.each(['home', 'Users', 'root', 'work'])('do not name a machine by /%s/…', (top) => {
    expect(placeComplaints(source('README.md', `see /${top}/somebody/notes`))).toHaveLength(1);
    expect(placeComplaints(source('README.md', `see docs/${top}/somebody, or https://a.b/${top}/x`))).toEqual(
      [],
    );
  });

  it('let the lock say what is installed, not from where', () => {
    const lock = (place: string) => lockComplaints(source('package-lock.json', `{ "resolved": "${place}" }`));
    expect(lock('https://packages.example/a/-/a-1.0.0.tgz')).toHaveLength(1);
    expect(lock('file:../a')).toHaveLength(1);
    expect(lock('leasehold')).toEqual([]);
    expect(lock('apps/cli')).toEqual([]);
  });
});

describe('limits by the clock of the wall', () => {
  it.each([
    "it('a', { timeout: 60_000 }, () => {\n  f();\n});",
    "describe('a', { timeout: LONG_MS }, () => {\n  f();\n});",
    "  it('a', () => {\n    f();\n  }, 60_000);",
    "  it.each([1])(\n    'a',\n    () => {\n      f();\n    },\n    LONG_MS,\n  );",
  ])('are minded in tests that only calculate, and there alone: %j', (text) => {
    const test = src('pool/a.test.ts', text);
    expect(limitComplaints(test, () => 'worlds')).toHaveLength(1);
    expect(limitComplaints(test, () => 'real')).toEqual([]);
    expect(limitComplaints(src('pool/a.ts', text), () => 'fast')).toEqual([]);
  });

  it.each(['await vi.waitUntil(isSo);', 'await vi.waitFor(() => f(g()));', 'await expect.poll(f).toBe(1);'])(
    'are minded in tests of real processes too if nobody chose them: %j',
    (text) => {
      const test = src('pool/a.test.ts', text);
      for (const kind of ['worlds', 'real']) expect(limitComplaints(test, () => kind)).toHaveLength(1);
    },
  );

  it('are not minded in a test of real processes that chose them', () => {
    const text =
      'await vi.waitUntil(() => f(g()), { timeout: LONG_MS });\nawait expect.poll(f, { timeout: 9 }).toBe(1);';
    expect(limitComplaints(src('pool/a.test.ts', text), () => 'real')).toEqual([]);
  });
});

describe('names of files in comments and documents', () => {
  const paths = ['leasehold/src/pool/core/owner/owner.ts', 'docs/here.md'];

  it.each([
    '`owner.ts`',
    '`owner/owner.ts`',
    '`../pool/core/owner/owner.ts`',
    'gone.ts',
    '```\n`gone.ts`\n```',
  ])('may be: %j', (text) => {
    expect(mentionComplaints(source('docs/here.md', text), paths)).toEqual([]);
  });

  it('must not be those of files that are gone', () => {
    const gone = ['docs/here.md:2: there is no file pool/gone.ts'];
    expect(mentionComplaints(source('docs/here.md', 'See\n`pool/gone.ts`.'), paths)).toEqual(gone);
    expect(mentionComplaints(src('a.ts', '// See `gone.ts`.'), paths)).toHaveLength(1);
    expect(mentionComplaints(src('a.ts', "f('`gone.ts`');"), paths)).toEqual([]);
    expect(mentionComplaints(source('CHANGELOG.md', '`gone.ts`'), paths)).toEqual([]);
  });
});

describe('cycles of imports', () => {
  const file = (name: string, ...imported: readonly string[]) =>
    src(`${name}.ts`, imported.map((other) => `import type { X } from './${other}.ts';`).join('\n'));

  it('are found, each once, with the files that lead to each other', () => {
    const files = [
      file('a', 'b'),
      file('b', 'c', 'd'),
      file('c', 'a'),
      file('d', 'e'),
      file('e', 'd'),
      file('f', 'a'),
    ];
    expect(cyclesIn(files)).toEqual([
      ['leasehold/src/d.ts', 'leasehold/src/e.ts'],
      ['leasehold/src/a.ts', 'leasehold/src/b.ts', 'leasehold/src/c.ts'],
    ]);
  });

  it('are none where files only share what they import', () => {
    expect(cyclesIn([file('a', 'c'), file('b', 'c', 'a'), file('c')])).toEqual([]);
  });
});

/** May only become less. */
const CYCLES_MAX = 5;

describe('this repository', () => {
  const files = readRepository(root);
  const code = files.filter(isCode);

  it('has been read', () => {
    expect(code.map(({ path }) => path)).toContain('leasehold/src/runtime/time.ts');
    expect(files.map(({ path }) => path)).toContain('package-lock.json');
  });

  it('imports in one direction', () => {
    expect(code.flatMap(importComplaints)).toEqual([]);
  });

  it('has few cycles of files that import each other, if only types', () => {
    expect(cyclesIn(code).length, JSON.stringify(cyclesIn(code), null, 2)).toBeLessThanOrEqual(CYCLES_MAX);
  });

  it('touches its surroundings in node/ alone', () => {
    expect(code.flatMap(surroundingsComplaints)).toEqual([]);
  });

  it('limits no test that only calculates by the clock of the wall', () => {
    expect(files.flatMap((file) => limitComplaints(file))).toEqual([]);
  });

  it('has manners', () => {
    expect(code.flatMap(codeComplaints)).toEqual([]);
  });

  it('names no file that is not there', () => {
    const paths = files.map(({ path }) => path);
    const texts = files.filter((file) => isCode(file) || file.path.endsWith('.md'));
    expect(texts.flatMap((file) => mentionComplaints(file, paths))).toEqual([]);
  });

  it('does not say on whose machine it was written', () => {
    expect(files.flatMap(placeComplaints)).toEqual([]);
    expect(files.filter(({ path }) => path === 'package-lock.json').flatMap(lockComplaints)).toEqual([]);
  });
});
