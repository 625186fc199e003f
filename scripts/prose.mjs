/**
 * `npm run prose`: how plain the comments are, per folder or per file. The rule behind the figures is in
 * `scripts/tidy/prose.ts`; `scripts/tidy.test.ts` enforces the rule.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { parseArguments } from './arguments.mjs';
import { bundle } from './bundle.mjs';
import { runCommand } from './command.mjs';
import { root } from './project.mjs';
import { table } from './table.mjs';

/** @import { Prose } from './tidy/prose.ts' */

const HELP = `Count the pronouns in the comments, per 1,000 words of comment.

  npm run prose [-- options] [folder or file …]

  --files      list files instead of folders, the worst first
  --update     lower the recorded limits of the files that improved
  --json       print JSON
  --help       this text`;

const RATCHET = join(root, 'scripts', 'tidy', 'prose-ratchet.json');

await runCommand('npm run prose --', async () => {
  const { words: wanted, flags } = parseArguments(process.argv.slice(2), {
    flags: ['files', 'update', 'json', 'help'],
    values: [],
  });
  if (flags.has('help')) {
    console.log(HELP);
    return 0;
  }
  /** @type {typeof import('./tidy/files.ts')} */
  const { isCode, readRepository } = await import(await bundle('scripts/tidy/files.ts'));
  /** @type {typeof import('./tidy/prose.ts')} */
  const { lowered, proseOf, rate, ratchetText, sumOf } = await import(await bundle('scripts/tidy/prose.ts'));
  const files = readRepository(root).filter(isCode);

  if (flags.has('update')) {
    const before = JSON.parse(readFileSync(RATCHET, 'utf8'));
    const after = lowered(before, files);
    writeFileSync(RATCHET, ratchetText(after));
    console.log(
      `${Object.keys(after).length} files have limits of their own, ${Object.keys(before).length} before`,
    );
    return 0;
  }

  const chosen = files
    .map(proseOf)
    .filter(({ path }) => wanted.length === 0 || wanted.some((folder) => isWithin(path, folder)));
  const parts = flags.has('files') ? byPronouns(chosen) : folders(chosen);
  const rows = [...parts, sumOf('all of these', chosen)].map((prose) => ({
    path: prose.path,
    words: prose.words,
    it: Math.round(rate(prose.it, prose)),
    who: Math.round(rate(prose.who, prose)),
    long: Math.round(rate(prose.long, prose)),
  }));
  if (flags.has('json')) console.log(JSON.stringify(rows, undefined, 2));
  else {
    const head = ['', 'words', 'it, its', 'who, what …', 'nine letters and more'];
    for (const line of table([head, ...rows.map((row) => Object.values(row))])) console.log(line);
  }
  return 0;

  /** @param {readonly Prose[]} all */
  function folders(all) {
    const names = [...new Set(all.map(({ path }) => dirname(path)))].sort();
    return names.map((name) =>
      sumOf(
        name,
        all.filter(({ path }) => dirname(path) === name),
      ),
    );
  }

  /** @param {readonly Prose[]} all */
  function byPronouns(all) {
    return all
      .filter(({ words }) => words > 0)
      .sort((one, other) => rate(other.it + other.who, other) - rate(one.it + one.who, one));
  }
});

/**
 * @param {string} path
 * @param {string} folder
 */
function isWithin(path, folder) {
  const name = folder.replace(/\/+$/, '');
  return path === name || path.startsWith(`${name}/`);
}
