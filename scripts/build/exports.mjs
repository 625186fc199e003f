/** Every entry of the package's `exports`, imported by plain Node and by a strict TypeScript project. */

import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { CommandError } from '../command.mjs';
import { cache, tools } from '../project.mjs';
import { entries, home } from './library.mjs';
import { run } from './run.mjs';

export async function importExports() {
  for (const [name, target] of entries()) {
    try {
      readFileSync(join(home, target.types));
      const module = await import(pathToFileURL(join(home, target.default)).href);
      console.log(`${name.padEnd(26)} ${Object.keys(module).length} exports`);
    } catch (error) {
      throw new CommandError(`${name} cannot be imported: ${error}`);
    }
  }
}

/** No types of Node, and no lenience towards libraries. */
export async function compileConsumer() {
  const consumer = join(cache, 'leasehold-consumer');
  rmSync(consumer, { recursive: true, force: true });
  mkdirSync(join(consumer, 'node_modules'), { recursive: true });
  symlinkSync(home, join(consumer, 'node_modules', 'leasehold'), 'dir');
  const lines = entries().map(([name], index) => `export type * as module${index} from '${name}';`);
  writeFileSync(join(consumer, 'consumer.ts'), lines.join('\n'));
  writeFileSync(join(consumer, 'package.json'), '{ "type": "module" }');
  const compilerOptions = { strict: true, module: 'NodeNext', target: 'ES2022', noEmit: true, types: [] };
  writeFileSync(join(consumer, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['consumer.ts'] }));
  await run('compiling a strict consumer', process.execPath, [tools.tsc, '-p', consumer]);
  console.log('compiles in a strict project');
}
