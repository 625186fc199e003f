/**
 * The package as npm would publish it: judged by the tools that judge packages, and installed into an
 * empty project, where the command is started and a small program run.
 */

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { CommandError } from '../command.mjs';
import { root } from '../project.mjs';
import { home } from './library.mjs';
import { run } from './run.mjs';

const bin = (/** @type {string} */ path) => join(root, 'node_modules', path);

export async function checkManifest() {
  await run('publint', process.execPath, [bin('publint/src/cli.js'), 'run', home, '--strict']);
  console.log('publint has nothing to say');
  // Modules of the newer kind alone, on purpose; and types by the newer ways of finding them.
  const options = ['--pack', home, '--profile', 'esm-only', '--quiet'];
  await run('attw', process.execPath, [bin('@arethetypeswrong/cli/dist/index.js'), ...options]);
  console.log('attw has nothing to say');
}

const PROGRAM = `
  import { startManager } from 'leasehold/manager';
  import { joinPool, connectLookup } from 'leasehold/pool';

  const manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
  const managers = [manager.address];
  const owner = await joinPool({ managers, pool: 'presence', name: 'ada', url: 'http://ada' });
  const lookup = await connectLookup({ managers, pool: 'presence' });
  console.log((await lookup.whenFound('alice')).name, await owner.whenOwned('alice') > 0);
  await lookup.close();
  await owner.close();
  await manager.close();
`;

/** @param {string} what @param {readonly string[]} args @param {string} cwd */
export function npm(what, args, cwd) {
  const cli = process.env['npm_execpath'] ?? '';
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error'];
  return cli.endsWith('npm-cli.js')
    ? run(what, process.execPath, [cli, ...args, ...quiet], { cwd })
    : run(what, 'npm', [...args, ...quiet], { cwd });
}

/**
 * Packs the build, installs the package into an empty project, and removes the project afterwards.
 *
 * @param {(folder: string) => Promise<void>} use
 */
export async function withInstalledPackage(use) {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-package-'));
  try {
    await npm('npm pack', ['pack', '--pack-destination', folder], home);
    const [tarball] = readdirSync(folder);
    if (tarball === undefined) throw new CommandError('npm pack made nothing');
    writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }');
    await npm('npm install', ['install', '--prefer-offline', `./${tarball}`], folder);
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export const installPacked = () =>
  withInstalledPackage(async (folder) => {
    writeFileSync(join(folder, 'program.js'), PROGRAM);
    const leasehold = join(folder, 'node_modules', '.bin', 'leasehold');
    const version = await run('leasehold --version', leasehold, ['--version'], { cwd: folder });
    const said = await run('a small program', process.execPath, ['program.js'], { cwd: folder });
    if (said.trim() !== 'ada true') throw new CommandError(`the small program said ${said}`);
    console.log(`installs into an empty project; leasehold --version says ${version.trim()}`);
  });
