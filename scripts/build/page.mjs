/**
 * The script of the Manager's page: the modules of `apps/page` as one text for a browser, in a module of the
 * library. It is kept in the repository, because a Manager has no bundler and runs from the sources as well
 * as from the package; `scripts/page.test.ts` sees to it that it is what the sources make.
 *
 * Nothing is made smaller: a stack from somebody's browser can be read, and a change can be seen in a diff.
 */

import { build } from 'esbuild';
import { join } from 'node:path';
import { CommandError } from '../command.mjs';
import { root } from '../project.mjs';

/** Where it is kept. */
export const pageBundlePath = join(root, 'leasehold', 'src', 'pool', 'http', 'page-bundle.ts');

const HEAD = `/** The script of the page. Made of \`apps/page\` by \`npm run page\`: change it there. */

export const PAGE_BUNDLE: string = `;

/** The text of the module, as it should be. */
export async function pageBundleModule() {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'apps', 'page', 'src', 'main.ts')],
    absWorkingDir: root,
    bundle: true,
    write: false,
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    logLevel: 'warning',
  });
  const script = outputFiles[0]?.text ?? '';
  if (/<\/script|<!--/i.test(script)) {
    throw new CommandError('the script of the page has something in it that would end its element');
  }
  return `${HEAD}\`${script.replace(/[\\`]|\$(?=\{)/g, '\\$&')}\`;\n`;
}
