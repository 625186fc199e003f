/**
 * The command line: one file with the libraries that it alone needs inside, so that whoever installs
 * the package for its owners and look-ups installs nothing else. Parts of the package itself are imported from the
 * package, also those that are not exported (`leasehold/internal`): a second copy of an error would be another one to
 * `instanceof`.
 */

import { build } from 'esbuild';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../project.mjs';
import { home } from './library.mjs';

const INSIDE = ['commander', 'picocolors'];

/** The unpublished door is a file beside the command line. @type {import('esbuild').Plugin} */
const internalDoor = {
  name: 'internal-door',
  setup({ onResolve }) {
    onResolve({ filter: /^leasehold\/internal$/ }, () => ({ path: '../internal.js', external: true }));
  },
};

export async function buildCli() {
  const folder = join(home, 'dist', 'cli');
  const outfile = join(folder, 'leasehold.js');
  const { metafile } = await build({
    entryPoints: [join(root, 'apps', 'cli', 'src', 'main.ts')],
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    outfile,
    metafile: true,
    external: ['leasehold', 'leasehold/*'],
    plugins: [internalDoor],
    // Libraries of the older kind ask for `require`, which a module has to make for itself.
    banner: {
      js: "#!/usr/bin/env node\nimport { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
    },
    legalComments: 'linked',
    logLevel: 'warning',
  });
  chmodSync(outfile, 0o755);
  writeFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), notices());
  checkInside(Object.keys(metafile.inputs));
}

/** What is inside must be in the list, or its licence would be missing; and nothing of the package itself may be. */
/** @param {readonly string[]} inputs */
function checkInside(inputs) {
  const doubled = inputs.filter((path) => path.startsWith('leasehold/'));
  if (doubled.length > 0) throw new Error(`the command line has a copy of its own of ${doubled.join(', ')}`);
  const inside = new Set(
    inputs.flatMap((path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
  );
  const unknown = [...inside].filter((name) => !INSIDE.includes(name));
  if (unknown.length > 0)
    throw new Error(`the command line contains ${unknown.join(', ')}: add it to INSIDE`);
}

function notices() {
  const each = INSIDE.map((name) => {
    const folder = join(root, 'node_modules', name);
    const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt']
      .map((each) => join(folder, each))
      .find((path) => existsSync(path));
    if (file === undefined) throw new Error(`${name} has no licence file`);
    return `${name} ${version} (${license})\n\n${readFileSync(file, 'utf8').trim()}\n`;
  });
  return `leasehold.js contains these libraries:\n\n${each.join('\n---\n\n')}`;
}
