/**
 * Turns a TypeScript module of this repository into one JavaScript file that Node can run as it
 * is. Simulation, story and benchmarks all run this way: always the sources as they are now,
 * without a build to remember, in some tens of milliseconds.
 *
 * The file is named after its content, so two runs at once never see each other's half-written
 * file, and importing a new version never meets the old one in a cache. Source maps are inside, so
 * that stack traces name the TypeScript lines; they are four fifths of a bundle, so whoever reads no traces leaves them out. Packages stay outside and are found in
 * `node_modules` as usual; but `leasehold/pool` and its like, as the applications write it, is our own
 * source and not what was built of it last.
 */

import { build } from 'esbuild';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import process from 'node:process';
import { threadId } from 'node:worker_threads';
import { CommandError } from './command.mjs';
import { cache, root } from './project.mjs';

const folder = join(cache, 'leasehold-sim');
const KEEP_MS = 24 * 3_600_000;

/** A change of text in one file, made on its way into the bundle. */
/** @typedef {{ readonly file: string, readonly from: string, readonly to: string }} Patch `file` is absolute. */

/** The bundle could not be made: the sources do not compile, or a patch does not fit. */
export class BundleError extends CommandError {
  /** @override */
  name = 'BundleError';
}

/**
 * @param {string} entry path of the module, relative to the repository or absolute
 * @param {{ patch?: Patch | undefined, maps?: boolean }} [options]
 * @returns {Promise<string>} path of the bundle
 */
export async function bundle(entry, { patch, maps = true } = {}) {
  const path = resolve(root, entry);
  if (!existsSync(path)) throw new BundleError(`${entry} does not exist`);
  const patching = patch === undefined ? undefined : patcher(patch);
  /** @type {import('esbuild').BuildResult<{ write: false }>} */
  let result;
  try {
    result = await build({
      entryPoints: [path],
      absWorkingDir: root,
      bundle: true,
      write: false,
      platform: 'node',
      format: 'esm',
      target: 'node20',
      packages: 'external',
      sourcemap: maps ? 'inline' : false,
      sourceRoot: root,
      outfile: join(folder, 'bundle.mjs'),
      logLevel: 'silent',
      plugins: [ownSources, ...(patching === undefined ? [] : [patching.plugin])],
    });
  } catch (error) {
    throw new BundleError(describe(error));
  }
  if (patching !== undefined && !patching.used()) {
    throw new BundleError(
      `${patch && relative(root, patch.file)} is not part of ${entry}, so changing it changes nothing`,
    );
  }
  return keep(basename(entry, '.ts'), result.outputFiles[0]?.contents ?? new Uint8Array());
}

/**
 * What `leasehold/…` stands for, by the package's own word: `dist/pool/index.js` is made of
 * `src/pool/index.ts`.
 *
 * @type {import('esbuild').Plugin}
 */
export const ownSources = {
  name: 'own-sources',
  setup({ onResolve }) {
    const home = join(root, 'leasehold');
    /** @type {{ exports: Record<string, string | { default: string }> }} */
    const { exports } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'));
    onResolve({ filter: /^leasehold(\/|$)/ }, ({ path }) => {
      // The door of the command line, which is not published.
      if (path === 'leasehold/internal')
        return { path: join(home, 'src', 'internal.ts'), sideEffects: false };
      const target = exports[`.${path.slice('leasehold'.length)}`];
      if (typeof target !== 'object')
        return { errors: [{ text: `${path} is not among the exports of leasehold` }] };
      const source = target.default.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts');
      return { path: join(home, source), sideEffects: false };
    });
  },
};

/** @param {Patch} patch */
function patcher(patch) {
  const contents = patched(patch);
  let used = false;
  /** @type {import('esbuild').Plugin} */
  const plugin = {
    name: 'patch',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        if (path !== patch.file) return undefined;
        used = true;
        return { contents, loader: 'ts' };
      });
    },
  };
  return { plugin, used: () => used };
}

/**
 * The changed text. A patch that no longer fits must be noticed: the fault it plants would be
 * missing, and what was meant to be caught would be nothing.
 *
 * @param {Patch} patch
 */
function patched({ file, from, to }) {
  const name = relative(root, file);
  if (from === to) throw new BundleError(`the patch of ${name} changes nothing: from and to are the same`);
  if (!existsSync(file)) throw new BundleError(`${name} does not exist`);
  const pieces = from === '' ? [] : readFileSync(file, 'utf8').split(from);
  if (pieces.length === 2) return pieces.join(to);
  const times = Math.max(0, pieces.length - 1);
  const what = JSON.stringify(from);
  throw new BundleError(
    `the text to replace must occur exactly once in ${name}, but occurs ${times} times: ${what}`,
  );
}

/** @param {unknown} error */
function describe(error) {
  if (!(error instanceof Error)) return String(error);
  if (!('errors' in error) || !Array.isArray(error.errors)) return error.message;
  return error.errors
    .map(({ text, location }) => (location ? `${location.file}:${location.line}: ${text}` : text))
    .join('\n');
}

/**
 * @param {string} name
 * @param {Uint8Array} contents
 */
function keep(name, contents) {
  mkdirSync(folder, { recursive: true });
  const digest = createHash('sha256').update(contents).digest('hex').slice(0, 16);
  const path = join(folder, `${name}-${digest}.mjs`);
  if (existsSync(path)) {
    utimesSync(path, new Date(), new Date());
  } else {
    forgetOld();
    // Threads of one process may write the same bundle at once.
    const draft = `${path}.${process.pid}.${threadId}.draft`;
    writeFileSync(draft, contents);
    renameSync(draft, path);
  }
  return path;
}

function forgetOld() {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY);
    if (age > KEEP_MS) rmSync(path, { force: true });
  }
}
