/**
 * The house rules that a machine can check. First the checks themselves are shown something bad,
 * since a check that cannot fail checks nothing; then the repository.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from './project.mjs';
import { isCode, readRepository } from './tidy/files.ts';
import { importComplaints } from './tidy/imports.ts';
import { codeComplaints, lockComplaints, placeComplaints } from './tidy/manners.ts';
import { lowered, PLAIN, proseComplaints, type Ratchet } from './tidy/prose.ts';
import { source } from './tidy/source.ts';
import { mentionComplaints } from './tidy/mentions.ts';
import { surroundingsComplaints } from './tidy/surroundings.ts';
import { testNameComplaints, testNamesOf } from './tidy/test-names.ts';

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
    ['etcd/testing/etcd-cluster.ts', '../../node/runtime.ts'],
    ['etcd/simulation/simulated-etcd.ts', '../../sim/world.ts'],
    ['membership/etcd/keeper.ts', '../../etcd/client.ts'],
    ['pool/simulation/world.ts', '../../sim/index.ts'],
    ['pool/owner/owner.ts', 'fast-check'],
  ])('%s may import %s', (path, module) => {
    expect(imports(path, module)).toEqual([]);
  });

  it('of the command line go through published names and one internal door', () => {
    const from = (path: string) =>
      importComplaints(source(path, "import { x } from '../../../leasehold/src/node/child.ts';"));
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

describe('names of files in comments and documents', () => {
  const paths = ['leasehold/src/pool/owner/owner.ts', 'docs/here.md'];

  it.each(['`owner.ts`', '`owner/owner.ts`', '`../pool/owner/owner.ts`', 'gone.ts', '```\n`gone.ts`\n```'])(
    'may be: %j',
    (text) => {
      expect(mentionComplaints(source('docs/here.md', text), paths)).toEqual([]);
    },
  );

  it('must not be those of files that are gone', () => {
    const gone = ['docs/here.md:2: there is no file pool/gone.ts'];
    expect(mentionComplaints(source('docs/here.md', 'See\n`pool/gone.ts`.'), paths)).toEqual(gone);
    expect(mentionComplaints(src('a.ts', '// See `gone.ts`.'), paths)).toHaveLength(1);
    expect(mentionComplaints(src('a.ts', "f('`gone.ts`');"), paths)).toEqual([]);
    expect(mentionComplaints(source('CHANGELOG.md', '`gone.ts`'), paths)).toEqual([]);
  });
});

describe('the prose of comments', () => {
  const comment = (words: number, pronouns: string) => `// ${'word '.repeat(words)} ${pronouns}\n`;

  it('is limited for a new file by the length of its comments', () => {
    const plain = src('pool/a.ts', comment(98, 'it its'));
    expect(proseComplaints(plain, {})).toEqual([]);
    const riddle = src('pool/a.ts', comment(90, 'it its It who whoever'));
    expect(proseComplaints(riddle, {})).toEqual([
      expect.stringContaining('3 times it, its in 95 words of comment, but at most 2 are allowed'),
      expect.stringContaining(
        '2 times who, what, whoever … in 95 words of comment, but at most 1 are allowed',
      ),
    ]);
  });

  it('is not judged by words in code and in strings', () => {
    expect(proseComplaints(src('a.ts', "it('it', () => what(who, `whoever ${it}`));"), {})).toEqual([]);
  });

  it('may stay as bad as recorded in an older file, and not become worse', () => {
    const ratchet: Ratchet = { 'leasehold/src/pool/a.ts': { it: 30, who: 6 } };
    expect(proseComplaints(src('pool/a.ts', comment(97, 'it it it')), ratchet)).toEqual([]);
    expect(proseComplaints(src('pool/a.ts', comment(95, 'it it it it')), ratchet)).toHaveLength(1);
  });

  it('lowers the record of a file that improved, and never raises one', () => {
    const [better, worse, plain] = ['better', 'worse', 'plain'].map((name) => `leasehold/src/${name}.ts`);
    const ratchet = Object.fromEntries(
      [better, worse, plain, 'gone'].map((path) => [path, { it: 50, who: 9 }]),
    );
    const files = [
      src('better.ts', comment(97, 'it it it')),
      src('worse.ts', comment(92, 'it it it it it it it it')),
      src('plain.ts', comment(99, '')),
      src('new.ts', comment(97, 'it it it')),
    ];
    expect(lowered(ratchet, files)).toEqual({
      [better ?? '']: { it: 30, who: PLAIN.who },
      [worse ?? '']: { it: 50, who: PLAIN.who },
    });
  });
});

describe('the name of a test', () => {
  const test = (text: string) => ({ path: 'leasehold/src/a.test.ts', text });

  it('is read with its groups, also after a table of cases', () => {
    const text = `describe('a', () => {
  describe.each([1])('b', () => {
    it.each([
      [1],
    ])('c %i', () => {});
  });
  it(
    "d",
    () => {},
  );
});
it('e has no group', () => {});`;
    expect(testNamesOf(test(text)).map(({ line, groups, name }) => [line, ...groups, name])).toEqual([
      [3, 'a', 'b', 'c %i'],
      [7, 'a', 'd'],
      [12, 'e has no group'],
    ]);
  });

  it.each([
    ["describe('who waits', () => {\n  it('is told to look, once', () => {});\n});", 'without a subject'],
    ["describe('a member', () => {\n  it('it waits for the end', () => {});\n});", 'pronoun'],
    ["describe('a member', () => {\n  it('waits for whoever leads', () => {});\n});", 'whoever'],
    ["describe('a world', () => {\n  it('counts', () => {});\n});", 'no sentence'],
  ])('is complained about: %j', (text, complaint) => {
    expect(testNameComplaints(test(text))).toEqual([expect.stringContaining(complaint)]);
  });

  it('passes if it is a sentence', () => {
    const text = "describe('a member', () => {\n  it('waits for the end of the lease', () => {});\n});";
    expect(testNameComplaints(test(text))).toEqual([]);
  });
});

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

  it('touches its surroundings in node/ alone', () => {
    expect(code.flatMap(surroundingsComplaints)).toEqual([]);
  });

  it('has manners', () => {
    expect(code.flatMap(codeComplaints)).toEqual([]);
  });

  it('has comments that are no harder to read than before: see npm run prose -- --files', () => {
    const ratchet: Ratchet = JSON.parse(readFileSync(join(root, 'scripts/tidy/prose-ratchet.json'), 'utf8'));
    expect(code.flatMap((file) => proseComplaints(file, ratchet))).toEqual([]);
  });

  it('has tests whose names stand alone in a failure report', () => {
    expect(code.flatMap(testNameComplaints)).toEqual([]);
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
