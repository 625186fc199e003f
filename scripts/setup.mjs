/**
 * Makes a fresh clone ready to use, and does nothing, quickly, when it is ready already. It runs
 * before `npm start`, `npm test` and the others, so that nobody has to know it exists.
 *
 * To be made ready are `node_modules` and the script of the Manager's page (`build/page.mjs`): every command bundles the
 * TypeScript sources it runs (`bundle.mjs`), so no other build can be out of date. What was installed is remembered by a
 * stamp inside `node_modules`, which disappears together with it.
 *
 * No dependencies here, and only what very old versions of Node can read, down to the line that
 * tells them they are too old.
 */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { oneAtATime } from './setup/one-at-a-time.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** What an installation that was broken off leaves behind; nothing in it can be relied upon. */
const UNFINISHED = 'unfinished\n';
const stampPath = join(root, 'node_modules', '.leasehold-setup');

/** What has to be the same for an installation to be the right one. */
function wanted() {
  const lock = readFileSync(join(root, 'package-lock.json'));
  return `${createHash('sha256').update(lock).digest('hex')} ${process.platform}-${process.arch}\n`;
}

function stamp() {
  try {
    return readFileSync(stampPath, 'utf8');
  } catch {
    return undefined;
  }
}

const isReady = () => stamp() === wanted();

/**
 * What the lock says, and the lock is left alone. A fresh clone gets exactly that, by `npm ci`. A folder that has been set up
 * before is brought up to date in place: `npm ci` would first remove `node_modules`, from which other commands may be
 * running. No package we use needs its install script.
 *
 * @param {boolean} isFresh
 * @returns {Promise<string | undefined>} what went wrong
 */
function install(isFresh) {
  const cli = process.env['npm_execpath'] ?? '';
  const command = isFresh ? ['ci'] : ['install', '--no-save'];
  const options = [...command, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const child = cli.endsWith('npm-cli.js')
    ? spawn(process.execPath, [cli, ...options], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
    : spawn('npm', options, {
        cwd: root,
        stdio: ['ignore', 'ignore', 'inherit'],
        shell: process.platform === 'win32',
      });
  return new Promise((resolve) => {
    child.on('error', (error) => resolve(`npm could not be started: ${error.message}`));
    child.on('exit', (code, signal) =>
      resolve(code === 0 ? undefined : `npm ${command.join(' ')} ended with ${signal ?? code}`),
    );
  });
}

async function setUp() {
  if (Number.parseInt(process.versions.node, 10) < 20) {
    console.error(
      `Leasehold needs Node 20 or newer; this is ${process.version}. Install a newer one and try again.`,
    );
    return 1;
  }
  const installed = isReady() ? 0 : await installOnce();
  if (installed !== 0) return installed;
  // Read only now: it needs what was installed.
  const { ensurePage } = await import('./build/page.mjs');
  await ensurePage();
  return 0;
}

function installOnce() {
  const waiting = () => console.log('Waiting for another set-up of this folder to finish …');
  const work = async () => {
    if (isReady()) return 0; // Somebody else did it while we waited.
    console.log('Setting up: installing the development dependencies into node_modules …');
    const startedAt = Date.now();
    const isFresh = stamp() === undefined || stamp() === UNFINISHED;
    if (isFresh) rmSync(join(root, 'node_modules'), { recursive: true, force: true });
    mkdirSync(join(root, 'node_modules'), { recursive: true });
    writeFileSync(stampPath, UNFINISHED);
    const failure = await install(isFresh);
    if (failure !== undefined) {
      console.error(`\nSet-up failed: ${failure}.`);
      console.error('What to do: read the lines above; check that this machine reaches the npm registry');
      console.error('(npm ping); then run the command again.');
      return 1;
    }
    writeFileSync(stampPath, wanted());
    console.log(`Set up in ${((Date.now() - startedAt) / 1000).toFixed(1)} s.`);
    return 0;
  };
  return oneAtATime(join(root, '.setup.lock'), work, waiting);
}

process.exitCode = await setUp();
