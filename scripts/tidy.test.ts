/**
 * The house rules that a machine can check. First the checks themselves are shown something bad,
 * since a check that cannot fail checks nothing; then the repository.
 */

import { describe, expect, it } from 'vitest';
import { isCode, readRepository } from './tidy/files.ts';
import { importComplaints } from './tidy/imports.ts';
import { codeComplaints, lockComplaints, placeComplaints } from './tidy/manners.ts';
import { source } from './tidy/source.ts';
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
    ['sim/world.ts', '../pool/table.ts'],
    ['node/clock.ts', '../log/log.ts'],
    ['log/file.ts', '../sim/disk.ts'],
    ['pool/owner/owner.ts', '../../sim/world.ts'],
    ['pool/owner/owner.ts', '../../quorum/paxos.ts'],
    ['pool/owner/owner.ts', '../../node/clock.ts'],
    ['quorum/simulation/index.ts', '../../pool/table.ts'],
    ['sundry/a.ts', '../runtime/time.ts'],
    ['pool/owner/owner.ts', '../index.ts'],
    ['pool/owner.test.ts', './index.ts'],
    ['pool/owner/owner.ts', 'leasehold/runtime'],
  ])('%s must not import %s', (path, module) => {
    expect(imports(path, module)).toHaveLength(1);
  });

  it.each([
    ['runtime/keys/a.ts', '../time.ts'],
    ['runtime/a.ts', './keys/index.ts'],
    ['sim/world.ts', '../runtime/keys/index.ts'],
    ['log/file.ts', '../runtime/time.ts'],
    ['log/simulated-log.ts', '../sim/disk.ts'],
    ['log/file.test.ts', '../sim/disk.ts'],
    ['pool/owner/owner.ts', '../../log/log.ts'],
    ['pool/owner/owner.ts', '../manager/index.ts'],
    ['pool/owner/owner.test.ts', '../../sim/world.ts'],
    ['pool/shell/join-pool.ts', '../../node/runtime.ts'],
    ['log/file/file-log.test.ts', '../../node/storage.ts'],
    ['log/etcd/testing/etcd-cluster.ts', '../../../node/runtime.ts'],
    ['pool/simulation/world.ts', '../../sim/index.ts'],
    ['pool/owner/owner.ts', 'fast-check'],
  ])('%s may import %s', (path, module) => {
    expect(imports(path, module)).toEqual([]);
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
    expect(surroundingsComplaints(src('pool/owner/owner.ts', text))).toHaveLength(1);
    expect(surroundingsComplaints(src('node/clock.ts', text))).toEqual([]);
  });

  it.each([
    '// Date.now() would be wrong here.',
    "throw new Error('setTimeout is missing');",
    'const performanceGoal = options.performance;',
    'interface Options { readonly performance: number }',
    "import { inspect } from 'node:util';",
  ])('are not touched by this: %s', (text) => {
    expect(surroundingsComplaints(src('pool/owner/owner.ts', text))).toEqual([]);
  });

  it('may be touched by a test, and a hash be computed in one place', () => {
    expect(surroundingsComplaints(src('pool/owner.test.ts', 'Math.random()'))).toEqual([]);
    expect(surroundingsComplaints(src('log/etcd/testing/a.ts', 'Math.random()'))).toEqual([]);
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
    'a;\n'.repeat(601),
  ])('are minded: %j', (text) => {
    expect(codeComplaints(src('pool/a.ts', text))).toHaveLength(1);
  });

  it.each(["cursor.skip('x');", "f('it.only');", '// The default export is forbidden.', 'a;\n'.repeat(600)])(
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

describe('this repository', () => {
  const files = readRepository();
  const code = files.filter(isCode);

  it('has been read', () => {
    expect(code.map(({ path }) => path)).toContain('leasehold/src/runtime/time.ts');
    expect(files.map(({ path }) => path)).toContain('package-lock.json');
  });

  it('imports in one direction', () => {
    expect(code.flatMap(importComplaints)).toEqual([]);
  });

  it('touches its surroundings in node/ alone', () => {
    expect(code.flatMap(surroundingsComplaints)).toEqual([]);
  });

  it('has manners', () => {
    expect(code.flatMap(codeComplaints)).toEqual([]);
  });

  it('does not say on whose machine it was written', () => {
    expect(files.flatMap(placeComplaints)).toEqual([]);
    expect(files.filter(({ path }) => path === 'package-lock.json').flatMap(lockComplaints)).toEqual([]);
  });
});
