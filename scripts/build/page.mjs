/**
 * The script of the Manager's page: the modules of `apps/page` as one text for a browser, in a module of the library.
 * A Manager has no bundler, and runs from the sources as well as from the package, so the module lies among the sources; but it
 * is built, not kept: git ignores it.
 *
 * Whether the module is out of date is decided here and nowhere else. Its first line names the digest of what it was made of: the
 * sources, the bundler, and this file. Times would not do, for a checkout gives old contents a new time. The set-up asks before every
 * command (`setup.mjs`), npm after an installation (`prepare`), and the tests when they are started without npm (`vitest.config.ts`).
 *
 * Nothing is made smaller: a stack from somebody's browser can be read.
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { threadId } from 'node:worker_threads';
import { root } from '../project.mjs';

const sources = join(root, 'apps', 'page', 'src');
const target = join(root, 'leasehold', 'src', 'pool', 'shell', 'service', 'page-bundle.ts');

/**
 * Makes the module if it is missing, or was made of something else.
 *
 * @param {{ readonly sources: string, readonly target: string }} [places]
 * @returns {Promise<'made' | 'there'>}
 */
export async function ensurePage(places = { sources, target }) {
  const head = `/** The script of the page. Made of \`apps/page\`: change it there. ${digestOf(places.sources)} */\n`;
  if (readIfThere(places.target)?.startsWith(head)) return 'there';
  const script = await scriptOf(join(places.sources, 'main.ts'));
  // Several commands may make the module at once; each of them reads a whole one.
  const draft = `${places.target}.${process.pid}.${threadId}.draft`;
  writeFileSync(draft, `${head}\nexport const PAGE_BUNDLE: string = \`${script}\`;\n`);
  renameSync(draft, places.target);
  return 'made';
}

/** @param {string} entry */
async function scriptOf(entry) {
  // Only now: the set-up reads this file also where nothing has to be made.
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    ...{ entryPoints: [entry], absWorkingDir: root, bundle: true, write: false, platform: 'browser' },
    ...{ format: 'iife', target: 'es2022', charset: 'utf8', legalComments: 'none', logLevel: 'warning' },
  });
  const script = outputFiles[0]?.text ?? '';
  if (/<\/script|<!--/i.test(script))
    throw new Error('the script of the page has something in it that would end its element');
  return script.replace(/[\\`]|\$(?=\{)/g, '\\$&');
}

/** @param {string} folder */
function digestOf(folder) {
  const hash = createHash('sha256').update(readFileSync(fileURLToPath(import.meta.url)));
  const { version } = createRequire(import.meta.url)('esbuild/package.json');
  hash.update(`esbuild ${version}\n`);
  const names = /** @type {string[]} */ (readdirSync(folder, { recursive: true }));
  for (const name of names.filter((each) => each.endsWith('.ts')).sort()) {
    hash.update(`${name.replaceAll(sep, '/')}\0`).update(readFileSync(join(folder, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

/** @param {string} path */
function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined;
    throw error;
  }
}
