import { Command } from 'commander';
import type { KeyAnswer } from '../answers.ts';
import { type AtOption, ManagerApi, poolPath } from '../api.ts';
import type { Context } from '../context.ts';
import { atOption, jsonOption, withExamples } from '../options.ts';
import { type JsonOption, show, table } from '../output.ts';
import { NOT_KNOWN_YET, waitingLines } from '../waiting.ts';

export function findCommand(context: Context): Command {
  const command = new Command('find')
    .summary('Show the owners of keys')
    .description('Show the owners of keys.')
    .argument('<pool>', 'the pool')
    .argument('<keys...>', 'the keys; quote those with spaces')
    .addOption(atOption())
    .addOption(jsonOption())
    .action(async (pool: string, keys: readonly string[], options: AtOption & JsonOption) => {
      const api = ManagerApi.of(context, options);
      const answers: KeyAnswer[] = [];
      for (const key of keys) {
        // A part of a path cannot be empty.
        const path = key === '' ? '/keys?key=' : `/keys/${encodeURIComponent(key)}`;
        answers.push(await api.get<KeyAnswer>(poolPath(pool, path)));
      }
      show(context, options, { pool, keys: answers }, () => keyLines(answers));
    });
  return withExamples(command, context, [
    ['pool find presence alice', 'who owns alice'],
    ['pool find presence alice bob', 'several at once'],
    ["pool find documents '{team-7}/minutes' --json", 'keys with the same {tag} are together'],
  ]);
}

export const keyLines = (answers: readonly KeyAnswer[]): readonly string[] => [
  ...table(['KEY', 'OWNER', 'URL', 'NUMBER'], answers.map(keyCells)),
  ...waitingLines(answers.at(-1)?.waitsMs ?? null),
];

function keyCells({ key, hash, owner, number, waitsMs }: KeyAnswer): readonly (string | number)[] {
  const name = key ?? hash;
  if (waitsMs !== null) return [name, NOT_KNOWN_YET, '-', '-'];
  return owner === null ? [name, 'nobody', '-', '-'] : [name, owner.name, owner.url, number];
}
