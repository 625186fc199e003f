/**
 * `npm run figures`: draws the figures of the paper and the pictures of the README anew, into `docs/figures`: all from simulated runs, but for the
 * page of the demonstration, which a browser has looked at.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { bundle } from './bundle.mjs';
import { browserPath, takePicture } from './figures/page.mjs';
import { runCommand } from './command.mjs';
import { root } from './project.mjs';

await runCommand('npm run figures --', async () => {
  const folder = join(root, 'docs', 'figures');
  mkdirSync(folder, { recursive: true });
  const { figures, svgOf } = await import(
    await bundle('leasehold/src/ratelimit/simulation/spread/figures/index.ts')
  );
  /** @param {string} name @param {string} picture */
  const write = (name, picture) => {
    const path = join(folder, `${name}.svg`);
    writeFileSync(path, picture);
    console.log(`wrote ${relative(root, path)}`);
  };
  for (const figure of figures()) write(figure.name, svgOf(figure));
  const { ringInTime } = await import(await bundle('scripts/figures/ring-in-time.ts'));
  write('ring-in-time', ringInTime());
  const browser = browserPath();
  if (browser === undefined)
    console.log('NOT DRAWN: page.png. Install chromium, or name one by CHROMIUM=/path/to/it.');
  else {
    await takePicture(join(folder, 'page.png'), browser);
    console.log('wrote docs/figures/page.png');
  }
  return 0;
});
