/**
 * Builds `leasehold/dist` as it is published, from nothing, and then uses it as a stranger would:
 * every entry of the package's `exports` is imported by plain Node, and by a strict TypeScript
 * project with no types of Node and no lenience towards its libraries. Missing files, imports that
 * still end in `.ts` and syntax or types that are too new show here and not at a user's.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { cache, root, tools } from './project.mjs';

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
    console.log(`leasehold${name.slice(1).padEnd(17)} ${Object.keys(module).length} exports`);
  } catch (error) {
    console.error(`leasehold${name.slice(1)} cannot be imported: ${error}`);
    process.exitCode = 1;
  }
}

const consumer = join(cache, 'leasehold-consumer');
rmSync(consumer, { recursive: true, force: true });
mkdirSync(join(consumer, 'node_modules'), { recursive: true });
symlinkSync(folder, join(consumer, 'node_modules', 'leasehold'), 'dir');
const names = Object.keys(manifest.exports).filter((name) => name !== './package.json');
writeFileSync(
  join(consumer, 'consumer.ts'),
  names.map((name, index) => `export type * as module${index} from 'leasehold${name.slice(1)}';`).join('\n'),
);
writeFileSync(join(consumer, 'package.json'), '{ "type": "module" }');
const strict = { strict: true, module: 'NodeNext', target: 'ES2022', noEmit: true, types: [] };
writeFileSync(
  join(consumer, 'tsconfig.json'),
  JSON.stringify({ compilerOptions: strict, files: ['consumer.ts'] }),
);
const compiled = spawnSync(process.execPath, [tools.tsc, '-p', consumer], { stdio: 'inherit' });
if (compiled.status !== 0) process.exitCode = 1;
else console.log('compiles in a strict project');
