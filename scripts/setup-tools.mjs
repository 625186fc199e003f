/**
 * Installs, from Debian, the programs that the tests and benchmarks use and npm does not have: false clocks,
 * cut networks, failing disks, a browser, and the servers that Leasehold is compared with. Does nothing,
 * quickly, when they are there. The script names each program and the reason before an installation. Where nothing may be
 * installed, the script says how to, and that is no failure: a test that needs a missing tool says so.
 *
 *     node scripts/setup-tools.mjs
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

/** Whether a library that is preloaded is there; nobody has it in a PATH. */
const hasFaketime = () =>
  existsSync('/usr/lib') &&
  readdirSync('/usr/lib').some((name) => existsSync(join('/usr/lib', name, 'faketime', 'libfaketime.so.1')));

/** @param {string} program */
const isThere = (program) =>
  ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']
    .concat((process.env['PATH'] ?? '').split(':'))
    .some((folder) => folder !== '' && existsSync(join(folder, program)));

/** @type {readonly { package: string, what: string, has: () => boolean }[]} */
const wanted = [
  { package: 'faketime', what: 'clocks that run at another rate', has: hasFaketime },
  { package: 'strace', what: 'syncs that fail', has: () => isThere('strace') },
  { package: 'iproute2', what: 'networks of our own', has: () => isThere('ip') },
  { package: 'nftables', what: 'networks that are cut', has: () => isThere('nft') },
  { package: 'redis-server', what: 'a comparison', has: () => isThere('redis-server') },
  { package: 'etcd-server', what: 'a log on it, and a comparison', has: () => isThere('etcd') },
  { package: 'default-jre-headless', what: 'ZooKeeper runs on it', has: () => isThere('java') },
  { package: 'zookeeper', what: 'a comparison', has: () => existsSync('/usr/share/java/zookeeper.jar') },
  { package: 'openssl', what: 'certificates', has: () => isThere('openssl') },
  { package: 'zsh', what: 'completion for it', has: () => isThere('zsh') },
  { package: 'fish', what: 'completion for it', has: () => isThere('fish') },
  { package: 'python3', what: 'a client in another language', has: () => isThere('python3') },
  { package: 'chromium', what: 'pages as people see them', has: () => isThere('chromium') },
];

const lacking = () => wanted.filter(({ has }) => !has());

/** Runs while no service that is installed may start by itself. */
function withoutServices(/** @type {() => void} */ act) {
  const policy = '/usr/sbin/policy-rc.d';
  const isOurs = !existsSync(policy);
  if (isOurs) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    act();
  } finally {
    if (isOurs) rmSync(policy, { force: true });
  }
}

/** @param {readonly string[]} packages */
function install(packages) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = ['install', '--yes', '--no-install-recommends', ...packages];
  const attempt = () => spawnSync('apt-get', options, { env, stdio: 'ignore' }).status === 0;
  withoutServices(() => {
    if (attempt()) return;
    // The lists of packages may be missing or old.
    spawnSync('apt-get', ['update'], { env, stdio: 'ignore' });
    attempt();
  });
}

function setUpTools() {
  const missing = lacking();
  if (missing.length === 0) return;
  const packages = missing.map((each) => each.package);
  const isRoot = process.getuid?.() === 0;
  if (isRoot && isThere('apt-get') && process.env['LEASEHOLD_INSTALL'] !== 'no') {
    const each = missing.map(({ package: name, what }) => `${name} (${what})`);
    console.log(`Installing with apt-get, unless LEASEHOLD_INSTALL=no: ${each.join(', ')}`);
    install(packages);
  }
  const still = lacking();
  if (still.length === 0) return;
  for (const { package: name, what } of still) console.log(`Missing: ${name} (${what})`);
  console.log(`To have them: sudo apt-get install ${still.map((each) => each.package).join(' ')}`);
  console.log('Without them some tests are left out, and say so; with CI=true they fail.');
}

setUpTools();
