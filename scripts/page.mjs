/** `npm run page`: makes the script of the Manager's page anew, after a change in `apps/page`. */

import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { pageBundleModule, pageBundlePath } from './build/page.mjs';
import { runCommand } from './command.mjs';
import { root } from './project.mjs';

await runCommand('npm run page --', async () => {
  writeFileSync(pageBundlePath, await pageBundleModule());
  console.log(`wrote ${relative(root, pageBundlePath)}`);
  return 0;
});
