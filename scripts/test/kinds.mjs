/**
 * Which row of `npm test` a test file belongs to.
 *
 *     real     touches processes, sockets, servers or the clocks of the machine, itself or through what it imports; all of `e2e/`
 *     worlds   plays simulated worlds: everything under a `simulation/` folder, and the tests of `npm run sim`
 *     fast     all others: they know no time but what they are told
 *
 * The kind follows from the place and the imports of a file, not from a list, so a new test is in the right row from its
 * first run. A test of a shell imports a connection, a connection imports `node:net`: the file is real, whether or not
 * each of its tests opens a socket. To be real costs a test only its place in the queue. To be taken for fast would cost
 * more: it would run beside a fully used processor.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from '../project.mjs';

/** @typedef {'fast' | 'worlds' | 'real'} Kind */

const FOLDERS = ['leasehold/src', 'apps', 'bench', 'examples', 'scripts', 'e2e'];
const LEFT_OUT = new Set(['node_modules', 'dist']);

/** What only real processes have. `node:fs` is not here: a disk is slow, but waits for nobody. */
const REAL = new Set([
  ...[
    'child_process',
    'cluster',
    'dgram',
    'http',
    'http2',
    'https',
    'net',
    'perf_hooks',
    'tls',
    'worker_threads',
  ].map((name) => `node:${name}`),
  'playwright-core',
]);

/** Imports and exports that are left when types are gone. */
const IMPORT = /(?:^(?:import|export)\b(?!\s+type\b)[^'"`;]*?|\bimport\(\s*)(['"])([^'"\n]+)\1/gm;

const CODE = /\.[cm]?[jt]s$/;

/** @type {{ exports: Readonly<Record<string, string | { readonly default: string }>> }} */
const { exports } = JSON.parse(readFileSync(join(root, 'leasehold', 'package.json'), 'utf8'));

/**
 * The sources for what the applications write, `leasehold/pool` and its like: not what was built of them last.
 *
 * @type {ReadonlyMap<string, string>}
 */
export const published = new Map([
  ...Object.entries(exports).flatMap(([name, target]) =>
    typeof target === 'string'
      ? []
      : [
          /** @type {const} */ ([
            `leasehold${name.slice(1)}`,
            `leasehold/${target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts')}`,
          ]),
        ],
  ),
  // The door of the command line, which is not published.
  /** @type {const} */ (['leasehold/internal', 'leasehold/src/internal.ts']),
]);

/**
 * Every test file, from the root of the repository.
 *
 * @returns {string[]}
 */
export function testFiles() {
  /** @param {string} folder @returns {string[]} */
  const within = (folder) =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : within(path);
      return entry.name.endsWith('.test.ts') ? [path] : [];
    });
  return FOLDERS.flatMap(within).sort();
}

/**
 * @param {string} path from the root of the repository
 * @param {(path: string) => string | undefined} [read]
 * @returns {Kind}
 */
export function kindOf(path, read = readSource) {
  if (path.startsWith('e2e/')) return 'real';
  if (path.includes('/simulation/') || path.startsWith('scripts/sim/')) return 'worlds';
  return isReal(path, read, new Set()) ? 'real' : 'fast';
}

/**
 * @param {string} path
 * @param {(path: string) => string | undefined} read
 * @param {Set<string>} seen
 * @returns {boolean}
 */
function isReal(path, read, seen) {
  if (seen.has(path)) return false;
  seen.add(path);
  const modules = [...(read(path) ?? '').matchAll(IMPORT)].map(([, , module = '']) => module);
  return (
    modules.some((module) => REAL.has(module)) ||
    modules.some((module) => {
      const target = module.startsWith('.') ? posix.join(posix.dirname(path), module) : published.get(module);
      return target !== undefined && isReal(target, read, seen);
    })
  );
}

/** @type {Map<string, string | undefined>} */
const sources = new Map();

/** @param {string} path */
function readSource(path) {
  if (!sources.has(path)) {
    const place = join(root, path);
    sources.set(path, CODE.test(path) && existsSync(place) ? readFileSync(place, 'utf8') : undefined);
  }
  return sources.get(path);
}
