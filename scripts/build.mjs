/**
 * Builds `leasehold/dist` as it is published, from nothing, and then uses it as a stranger would.
 * Missing files, imports that still end in `.ts`, syntax or types that are too new, a command that
 * cannot be started: all of that shows here and not at a user's.
 */

import { runCommand } from './command.mjs';
import { checkImports, checkSize } from './build/bars.mjs';
import { buildCli } from './build/cli.mjs';
import { compileConsumer, importExports } from './build/exports.mjs';
import { checkManifest, installPacked } from './build/package.mjs';
import { buildLibrary } from './build/library.mjs';
import process from 'node:process';
import { parseArguments } from './arguments.mjs';

const HELP = `Builds the package leasehold, and checks it.

  npm run build [-- options]

  --quick   build only
  --help    this text`;

await runCommand('npm run build --', async () => {
  const { flags } = parseArguments(process.argv.slice(2), { flags: ['quick', 'help'], values: [] });
  if (flags.has('help')) {
    console.log(HELP);
    return 0;
  }
  await buildLibrary();
  await buildCli();
  if (flags.has('quick')) return 0;
  await importExports();
  await Promise.all([compileConsumer(), checkManifest(), installPacked()]);
  await checkSize();
  checkImports();
  return 0;
});
