/**
 * Completion scripts, from the tree of commands itself, so that they have exactly the words of the program. Hidden
 * commands and options stay hidden.
 */

import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Word {
  readonly word: string;
  readonly what: string;
}

interface OptionWord extends Word {
  /** Undefined: the option takes no value. Empty: any. */
  readonly values: readonly string[] | undefined;
}

/** A command, as `leasehold demo add-owner` without the first word; empty for the program itself. */
interface Node {
  readonly path: readonly string[];
  readonly commands: readonly Word[];
  readonly options: readonly OptionWord[];
  /** The values of the first argument, if known. */
  readonly choices: readonly string[];
}

export function completionScript(program: Command, shell: Shell): string {
  const nodes = nodesOf(program, []);
  switch (shell) {
    case 'bash':
      return bashScript(nodes);
    case 'zsh':
      return zshScript(nodes);
    case 'fish':
      return fishScript(nodes);
  }
}

function nodesOf(command: Command, path: readonly string[]): readonly Node[] {
  const help = command.createHelp();
  const children = help.visibleCommands(command).filter((child) => child.name() !== 'help');
  const node: Node = {
    path,
    commands: children.map((child) => ({ word: child.name(), what: child.summary() || child.description() })),
    options: help.visibleOptions(command).map(optionWord),
    choices: command.registeredArguments[0]?.argChoices ?? [],
  };
  return [node, ...children.flatMap((child) => nodesOf(child, [...path, child.name()]))];
}

const optionWord = (option: Option): OptionWord => ({
  word: option.long ?? option.short ?? '',
  what: option.description,
  values: option.required || option.optional ? (option.argChoices ?? []) : undefined,
});

const wordsOf = ({ commands, options, choices }: Node): readonly string[] => [
  ...commands.map(({ word }) => word),
  ...choices,
  ...options.map(({ word }) => word),
];

function bashScript(nodes: readonly Node[]): string {
  const paths = nodes.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`);
  const words = nodes.map((node) => `    '${node.path.join(' ')}') words='${wordsOf(node).join(' ')}' ;;`);
  const values = valuesOf(nodes).map(
    ([path, word, choices]) =>
      `    '${[...path, word].join(' ')}') COMPREPLY=($(compgen ${choices} -- "$word")); return ;;`,
  );
  return `# bash completion of leasehold
_leasehold() {
  local word="\${COMP_WORDS[COMP_CWORD]}" path='' words='' at
  for ((at = 1; at < COMP_CWORD; at += 1)); do
    [[ "\${COMP_WORDS[at]}" == -- ]] && { COMPREPLY=($(compgen -c -f -- "$word")); return; }
    case "\${path:+$path }\${COMP_WORDS[at]}" in
    ${paths.join(' | ')}) path="\${path:+$path }\${COMP_WORDS[at]}" ;;
    esac
  done
  case "\${path:+$path }\${COMP_WORDS[COMP_CWORD - 1]}" in
${values.join('\n')}
  esac
  case "$path" in
${words.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _leasehold leasehold
`;
}

/** Options with a value: the choices if there are any, files otherwise. */
function valuesOf(nodes: readonly Node[]): readonly (readonly [readonly string[], string, string])[] {
  return nodes.flatMap(({ path, options }) =>
    options.flatMap(({ word, values }) =>
      values === undefined
        ? []
        : [[path, word, values.length === 0 ? '-f' : `-W '${values.join(' ')}'`] as const],
    ),
  );
}

function zshScript(nodes: readonly Node[]): string {
  const parts = nodes.map((node) => {
    const commands = node.commands.map(({ word, what }) => `'${word}:${zshText(what)}'`);
    const choices = node.choices.map((choice) => `'${choice}'`);
    const options = node.options.map(({ word, what, values }) => {
      const value =
        values === undefined ? '' : values.length === 0 ? ':value:_files' : `:value:(${values.join(' ')})`;
      return `'${word}[${zshText(what)}]${value}'`;
    });
    return `    '${node.path.join(' ')}')
      commands=(${[...commands, ...choices].join(' ')})
      options=(${options.join(' ')}) ;;`;
  });
  const paths = nodes.filter(({ path }) => path.length > 0).map(({ path }) => `'${path.join(' ')}'`);
  return `#compdef leasehold
# zsh completion of leasehold
_leasehold() {
  local trail='' at
  local -a commands options
  for ((at = 2; at < CURRENT; at += 1)); do
    [[ "$words[at]" == -- ]] && { _normal; return; }
    case "\${trail:+$trail }$words[at]" in
    ${paths.join(' | ')}) trail="\${trail:+$trail }$words[at]" ;;
    esac
  done
  case "$trail" in
${parts.join('\n')}
  esac
  (( $#commands )) && [[ "$PREFIX" != -* ]] && _describe command commands
  _arguments -s $options '*:argument:_default'
}
_leasehold "$@"
`;
}

const zshText = (text: string): string => text.replaceAll("'", "'\\''").replace(/[[\]:\\]/g, '\\$&');

function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap((node) => {
    const inside = node.path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const names = node.commands.map(({ word }) => word);
    const outside = names.length === 0 ? [] : [`not __fish_seen_subcommand_from ${names.join(' ')}`];
    const condition = (parts: readonly string[]): string =>
      parts.length === 0 ? '' : ` -n '${parts.join('; and ')}'`;
    const here = condition([...inside, ...outside]);
    return [
      ...node.commands.map(
        ({ word, what }) => `complete -c leasehold -f${here} -a ${word} -d '${fishText(what)}'`,
      ),
      ...node.choices.map((choice) => `complete -c leasehold -f${here} -a ${choice}`),
      ...node.options.map(({ word, what, values }) => {
        const value =
          values === undefined ? '' : values.length === 0 ? ' -r' : ` -x -a '${values.join(' ')}'`;
        return `complete -c leasehold${here} -l ${word.replace(/^--/, '')}${value} -d '${fishText(what)}'`;
      }),
    ];
  });
  return `# fish completion of leasehold\n${lines.join('\n')}\n`;
}

const fishText = (text: string): string => text.replace(/['\\]/g, '\\$&');
