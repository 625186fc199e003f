/**
 * Programs of the system that make faults: false clocks, cut networks, failing disks. `scripts/setup-tools.mjs`
 * installs them where it may.
 */

import { execFile } from 'node:child_process';
import { existsSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Runs a command of the system, and fails with what it said. */
export async function run(command: string, ...args: readonly string[]): Promise<string> {
  return (await execute(command, [...args])).stdout;
}

const libraries = existsSync('/usr/lib') ? readdirSync('/usr/lib', { withFileTypes: true }) : [];
const FAKETIME = libraries
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join('/usr/lib', name, 'faketime', 'libfaketime.so.1'))
  .find((path) => existsSync(path));

export type Tool =
  | 'etcd'
  | 'faketime'
  | 'time namespaces'
  | 'network namespaces'
  | 'strace'
  | 'terminals'
  | 'temporary file systems';

/** What a test can need of the system, and how to find out whether it is there. */
const TOOLS: Readonly<Record<Tool, () => Promise<unknown>>> = {
  etcd: () => run('etcd', '--version'),
  faketime: async () => {
    if (FAKETIME === undefined) throw new Error('libfaketime is not installed');
  },
  'time namespaces': () => run('unshare', '-T', '--monotonic', '3600', 'true'),
  'network namespaces': async () => {
    const name = `leasehold-${process.pid}-probe`;
    await run('ip', 'netns', 'add', name);
    try {
      await run('ip', 'netns', 'exec', name, 'nft', 'list', 'tables');
    } finally {
      await run('ip', 'netns', 'delete', name);
    }
  },
  strace: () => run('strace', '-qq', '-o', '/dev/null', '-e', 'trace=fsync', 'true'),
  terminals: () => run('script', '--quiet', '--command', 'stty -echo', '/dev/null'),
  'temporary file systems': () =>
    run('unshare', '--mount', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', '/mnt'),
};

/** Why a tool cannot be used; undefined if it can. */
export async function missing(tool: Tool): Promise<string | undefined> {
  try {
    await TOOLS[tool]();
    return undefined;
  } catch (error) {
    const why = error instanceof Error ? error.message.trim() : String(error);
    return `${tool}: ${why}`;
  }
}

export interface FalseClock {
  /** How fast all clocks of the process run. */
  readonly rate?: number;
  /** A file with an offset in seconds, `+30`, that is read again at every look at a clock. */
  readonly file?: string;
  /** Leaves the monotonic clock alone. */
  readonly wallOnly?: boolean;
}

/** The environment in which a process has a false clock. */
export function falseClock({ rate, file, wallOnly }: FalseClock): Record<string, string> {
  return {
    LD_PRELOAD: FAKETIME ?? '',
    FAKETIME_NO_CACHE: '1',
    ...(rate === undefined ? {} : { FAKETIME: `+0 x${rate}` }),
    ...(file === undefined ? {} : { FAKETIME_TIMESTAMP_FILE: file }),
    ...(wallOnly === true ? { DONT_FAKE_MONOTONIC: '1', FAKETIME_DONT_FAKE_MONOTONIC: '1' } : {}),
  };
}

/** Sets such a file, in one step: the process may be reading it. */
export function setOffset(file: string, offset: string): void {
  writeFileSync(`${file}.new`, `${offset}\n`);
  renameSync(`${file}.new`, file);
}
