/** The library: JavaScript and types, file by file. */

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { CommandError } from '../command.mjs';
import { root, tools } from '../project.mjs';

export const home = join(root, 'leasehold');

export function buildLibrary() {
  rmSync(join(home, 'dist'), { recursive: true, force: true });
  const project = join(home, 'tsconfig.build.json');
  const { status } = spawnSync(process.execPath, [tools.tsc, '-p', project], { stdio: 'inherit' });
  if (status !== 0) throw new CommandError('the sources do not compile');
}
