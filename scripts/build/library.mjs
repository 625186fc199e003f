/**
 * The library as it is published: what `exports` reaches, and nothing else.
 *
 * JavaScript is bundled by entry point. Modules that several entries need are in chunks that they share, so a class is the same
 * class whichever door a program came in by (`instanceof`), and a program reads a few files instead of hundreds. esbuild also
 * writes `{ ...{ a, b }, c }`, which groups fields in our sources, as the plain object that it is: on Node 20 the
 * spread would cost two microseconds each time.
 *
 * Types are the compiler's, file by file, for a bundle of types is only as right as the tool that makes it. Those that no entry
 * reaches are removed again.
 */

import { build } from 'esbuild';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import process from 'node:process';
import { CommandError } from '../command.mjs';
import { mergeChunks } from './merge-chunks.mjs';
import { root, tools } from '../project.mjs';

export const home = join(root, 'leasehold');
const dist = join(home, 'dist');

/** The entries of `exports`. @returns {readonly (readonly [name: string, target: { types: string, default: string }])[]} */
export function entries() {
  /** @type {{ exports: Record<string, string | { types: string, default: string }> }} */
  const { exports } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
  return Object.entries(exports).flatMap(([name, target]) =>
    typeof target === 'string' ? [] : [/** @type {const} */ ([`leasehold${name.slice(1)}`, target])],
  );
}

/** The door of the command line alone (`leasehold/internal`). */
const INTERNAL = './dist/internal.js';

export async function buildLibrary() {
  rmSync(dist, { recursive: true, force: true });
  buildTypes();
  await bundleEntries();
  dropUnusedImports();
  await mergeChunks(
    dist,
    [...entries().map(([, target]) => target.default), INTERNAL].map((path) => join(home, path)),
  );
}

async function bundleEntries() {
  const targets = [...entries().map(([, target]) => target.default), INTERNAL];
  await build({
    entryPoints: targets.map((path) => join(home, path.replace('/dist/', '/src/').replace(/\.js$/, '.ts'))),
    ...{ absWorkingDir: home, outbase: join(home, 'src'), outdir: dist, chunkNames: 'chunks/[name]-[hash]' },
    ...{ bundle: true, splitting: true, format: 'esm', platform: 'node', target: 'node20.3' },
    ...{ minifySyntax: true, packages: 'external', legalComments: 'none', logLevel: 'warning' },
  });
}

/**
 * esbuild imports a chunk for its effects alone where a module of that chunk stands in the way of an import but is not used: a rate
 * limiter would load a client of etcd. No module of ours has an effect when it is loaded (`sideEffects` in `package.json`).
 */
function dropUnusedImports() {
  for (const path of filesBelow(dist).filter((path) => path.endsWith('.js'))) {
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replaceAll(/^import "\.[^"]*";\n/gm, ''));
  }
  // A chunk of types is empty, and nothing imports it now.
  for (const path of filesBelow(join(dist, 'chunks'))) if (readFileSync(path).length === 0) rmSync(path);
}

function buildTypes() {
  const project = join(home, 'tsconfig.build.json');
  const { status } = spawnSync(process.execPath, [tools.tsc, '-p', project], { stdio: 'inherit' });
  if (status !== 0) throw new CommandError('the sources do not compile');
  const reached = reachedTypes(entries().map(([, { types }]) => join(home, types)));
  for (const path of filesBelow(dist)) if (!reached.has(path)) rmSync(path);
  removeEmptyFolders(dist);
}

/** All declarations that these refer to, themselves included. @param {readonly string[]} paths */
function reachedTypes(paths) {
  const reached = new Set(paths);
  for (const path of reached) {
    // Imports, exports, and types that the compiler wrote as `import('./x.js').X`.
    for (const [, name = ''] of readFileSync(path, 'utf8').matchAll(
      /(?:from |import\()['"](\.[^'"]+)['"]/g,
    )) {
      const target = resolve(dirname(path), name.replace(/\.(?:js|ts)$/, '.d.ts'));
      if (!existsSync(target)) throw new CommandError(`${path} refers to ${name}, which was not built`);
      reached.add(target);
    }
  }
  return reached;
}

/** @param {string} folder @returns {string[]} */
const filesBelow = (folder) =>
  readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));

/** @param {string} folder */
function removeEmptyFolders(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeEmptyFolders(join(folder, entry.name));
  if (readdirSync(folder).length === 0) rmdirSync(folder);
}
