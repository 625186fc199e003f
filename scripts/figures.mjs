/** `npm run figures`: draws the figures of the paper anew, from simulated runs, into `docs/figures`. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { bundle } from './bundle.mjs';
import { runCommand } from './command.mjs';
import { root } from './project.mjs';

await runCommand('npm run figures --', async () => {
  const folder = join(root, 'docs', 'figures');
  mkdirSync(folder, { recursive: true });
  const { figures, svgOf } = await import(
    await bundle('leasehold/src/ratelimit/simulation/spread/figures/index.ts')
  );
  for (const figure of figures()) {
    const path = join(folder, `${figure.name}.svg`);
    writeFileSync(path, svgOf(figure));
    console.log(`wrote ${relative(root, path)}`);
  }
  return 0;
});
