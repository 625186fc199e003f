/** `npm run reference`: writes `docs/reference.md` anew, after a change of a published name or its comment. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from './bundle.mjs';
import { runCommand } from './command.mjs';
import { root } from './project.mjs';

await runCommand('npm run reference --', async () => {
  const { referenceOf, surfaceOf, unsaid } = await import(await bundle('scripts/docs/reference.ts'));
  const surface = surfaceOf(root);
  writeFileSync(join(root, 'docs', 'reference.md'), referenceOf(surface));
  console.log('wrote docs/reference.md');
  const missing = unsaid(surface);
  for (const each of missing) console.error(`no sentence: ${each}`);
  return missing.length === 0 ? 0 : 1;
});
