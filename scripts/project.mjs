/** Where things are in this repository. */

import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** What can be thrown away at any time; it goes with `node_modules`. */
export const cache = join(root, 'node_modules', '.cache');

/** Run with `process.execPath`: the launchers in `node_modules/.bin` differ between systems. */
export const tools = {
  tsc: join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
  biome: join(root, 'node_modules', '@biomejs', 'biome', 'bin', 'biome'),
  vitest: join(root, 'node_modules', 'vitest', 'vitest.mjs'),
};
