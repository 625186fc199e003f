/**
 * What the sources declare that the documents have to name: the options of an interface, the codes of errors, and the
 * lines of the log. Read from the text, which is enough for how
 * we write them.
 */

import type { Source } from '../tidy/source.ts';

/** The options of every handle, which an interface takes with `extends`; without those that it omits. */
const COMMON = ['CallOptions', 'BeginOptions', 'ListenOptions'];

/** The options of an interface: those of every handle that it extends, and its own. Each once. */
export function allOptionsOf(source: Source, name: string, handles: Source): readonly string[] {
  const head = new RegExp(`\\binterface ${name}\\b[^{]*`).exec(source.code)?.[0] ?? '';
  const isTaken = (common: string): boolean => new RegExp(`\\b${common}\\b`).test(head);
  const omitted = new Set([...head.matchAll(/'(\w+)'/g)].map(([, option]) => option));
  const taken = COMMON.filter(
    (common) => isTaken(common) || (common === 'CallOptions' && isTaken('BeginOptions')),
  );
  const inherited = taken
    .flatMap((common) => optionsOf(handles, common))
    .filter((option) => !omitted.has(option));
  return [...new Set([...inherited, ...optionsOf(source, name)])];
}

/** The names that an interface declares itself, in order. */
export function optionsOf({ path, bare }: Source, name: string): readonly string[] {
  const head = new RegExp(`\\binterface ${name}\\b[^{]*\\{`).exec(bare);
  if (head === null) throw new Error(`${path} has no interface ${name}`);
  const names: string[] = [];
  let depth = 1;
  for (const line of bare.slice(head.index + head[0].length).split('\n')) {
    const option = /^\s*(?:readonly )?(\w+)\??:/.exec(line)?.[1];
    if (depth === 1 && option !== undefined) names.push(option);
    depth += [...line.matchAll(/[{(]/g)].length - [...line.matchAll(/[})]/g)].length;
    if (depth <= 0) break;
  }
  return names;
}

/** What is said to a logger in so many words; of a text with something put in, the part before that. */
export function logLinesOf({ code }: Source): readonly string[] {
  return [...code.matchAll(LOGGED)].flatMap(([, single, template]) => {
    const words = single ?? template?.split('${')[0] ?? '';
    return words === '' ? [] : [words];
  });
}

const LOGGED =
  /(?:ogger(?:\.(?:info|warn|error)|\[[^\]\n]*\])\(\s*|omplaints\.(?:about|over)\([^'`;]*?[,?]\s*|#holdsAgain\(\s*)(?:'([^'\n]+)'|`([^`\n]+)`)/g;

export interface DeclaredError {
  readonly name: string;
  readonly path: string;
  /** Undefined: it is said by whoever makes one, or by the system. */
  readonly codes: readonly string[] | undefined;
  /** Undefined: it depends. */
  readonly retryable: boolean | undefined;
}

/** Every class of errors that is thrown on purpose in one case only. */
export function errorsOf({ path, code }: Source): readonly DeclaredError[] {
  return [...code.matchAll(/\bclass (\w+) extends SingleError \{(.*?)^\}/gms)].map(
    ([, name = '', body = '']) => {
      const literal = /\bcode(?: = |: )((?:'\w+'(?: \| )?)+);/.exec(body)?.[1];
      const retryable = /\bretryable = (true|false);/.exec(body)?.[1];
      return {
        ...{ name, path },
        codes: literal?.split(' | ').map((word) => word.slice(1, -1)),
        retryable: retryable === undefined ? undefined : retryable === 'true',
      };
    },
  );
}

/** Every error of the nine classes that is made with a literal code, as `UnavailableError NO_MAJORITY`. */
export const thrownIn = ({ code }: Source): readonly string[] =>
  [...code.matchAll(/\bnew (\w+Error)\(\s*'([A-Z][A-Z_]+)'/g)].map(
    ([, name = '', said = '']) => `${name} ${said}`,
  );
