import { Command } from 'commander';
import type { ExplainAnswer } from '../answers.ts';
import { type AtOption, ManagerApi, poolPath } from '../api.ts';
import type { Context } from '../context.ts';
import { atOption, jsonOption, withExamples } from '../options.ts';
import { type JsonOption, show } from '../output.ts';

export function explainCommand(context: Context): Command {
  const command = new Command('explain')
    .summary('Explain why a key is at its owner')
    .description('Explain why a key is at its owner.')
    .argument('<pool>', 'the pool')
    .argument('<key>', 'the key; quote it if it has spaces')
    .addOption(atOption())
    .addOption(jsonOption())
    .action(async (pool: string, key: string, options: AtOption & JsonOption) => {
      const api = ManagerApi.of(context, options);
      const answer = await api.get<ExplainAnswer>(poolPath(pool, `/explain?key=${encodeURIComponent(key)}`));
      show(context, options, answer, () =>
        answer.sentences.flatMap((line) => wrap(line, context.out.columns)),
      );
    });
  return withExamples(command, context, [
    ['pool explain presence alice', 'from the characters of the key to the server'],
    ['pool explain presence alice --json', 'the same as facts'],
  ]);
}

/** At spaces, to lines no longer than the terminal is wide, and no longer than is easy to read. */
export function wrap(text: string, columns: number): readonly string[] {
  const width = Math.min(Math.max(columns, 20), 100);
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = `  ${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
