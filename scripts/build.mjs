/**
 * Builds `leasehold/dist` as it is published, from nothing, and then uses it as a stranger would:
 * every entry of the package's `exports` is imported by plain Node. Missing files, imports that
 * still end in `.ts` and syntax that is too new show here and not at a user's.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { root, tools } from './project.mjs';

const folder = join(root, 'leasehold');
rmSync(join(folder, 'dist'), { recursive: true, force: true });
const built = spawnSync(process.execPath, [tools.tsc, '-p', join(folder, 'tsconfig.build.json')], {
  stdio: 'inherit',
});
if (built.status !== 0) process.exit(1);

/** @type {{ exports: Record<string, string | { types: string, default: string }> }} */
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
for (const [name, target] of Object.entries(manifest.exports)) {
  if (typeof target === 'string') continue;
  try {
    readFileSync(join(folder, target.types));
    const module = await import(pathToFileURL(join(folder, target.default)).href);
    console.log(`leasehold${name.slice(1).padEnd(12)} ${Object.keys(module).length} exports`);
  } catch (error) {
    console.error(`leasehold${name.slice(1)} cannot be imported: ${error}`);
    process.exitCode = 1;
  }
}
