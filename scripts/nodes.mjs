/**
 * Tries the built package on each version of Node that the README names: the quick start, a group with a lease, and a
 * supervised server that is killed. Each version runs the same installed package; npm has the binaries.
 *
 *     npm run nodes             all versions
 *     npm run nodes -- 22 24    these
 */

import { cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArguments } from './arguments.mjs';
import { buildCli } from './build/cli.mjs';
import { buildLibrary } from './build/library.mjs';
import { withInstalledPackage } from './build/package.mjs';
import { run } from './build/run.mjs';
import { runCommand, UsageError } from './command.mjs';
import { nodeBinary, VERSIONS } from './nodes/binaries.mjs';
import { root } from './project.mjs';

const HELP = `Tries the built package on several versions of Node.

  npm run nodes [-- versions options]

  --built   use leasehold/dist as it is, instead of building it first
  --help    this text

Versions: ${VERSIONS.join(', ')} (default: all). npm fetches each once, about 40 MB, into node_modules/.cache.`;

const programs = join(root, 'scripts', 'nodes', 'programs');

await runCommand('npm run nodes --', async () => {
  const { words, flags } = parseArguments(process.argv.slice(2), { flags: ['built', 'help'], values: [] });
  if (flags.has('help')) {
    console.log(HELP);
    return 0;
  }
  const unknown = words.find((word) => !VERSIONS.includes(word));
  if (unknown !== undefined) throw new UsageError(`Node ${unknown} is not among ${VERSIONS.join(', ')}`);
  if (!flags.has('built')) {
    await buildLibrary();
    await buildCli();
  }
  await withInstalledPackage(async (folder) => {
    cpSync(programs, folder, { recursive: true });
    for (const version of words.length > 0 ? words : VERSIONS) {
      const node = await nodeBinary(version);
      if ('why' in node) console.log(`LEFT OUT: Node ${version} cannot be had: ${node.why}`);
      else await tryPrograms(node.path, folder);
    }
  });
  return 0;
});

/** @param {string} node @param {string} folder */
async function tryPrograms(node, folder) {
  const version = (await run('node --version', node, ['--version'])).trim();
  for (const program of readdirSync(programs).sort()) {
    const startedAt = performance.now();
    const said = await run(`${program} on Node ${version}`, node, [program], { cwd: folder });
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    console.log(
      `Node ${version}  ${program.replace('.mjs', '').padEnd(14)} ${seconds.padStart(5)} s  ${said.trim()}`,
    );
  }
}
