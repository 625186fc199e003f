/**
 * What the sources declare that the documents have to name: the options of an interface, what can be asked
 * of an object, the codes of errors, and the lines of the log. Read from the text, which is enough for how
 * we write them.
 */

import type { Source } from '../tidy/source.ts';

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

/** What anybody may ask of such an object, in order: not what is private or marked `@internal`, nor symbols. */
export function membersOf({ path, text, bare }: Source, name: string): readonly string[] {
  const head = new RegExp(`\\b(?:class|interface) ${name}\\b[^{]*\\{`).exec(bare);
  if (head === null) throw new Error(`${path} has no class or interface ${name}`);
  const members: string[] = [];
  let [depth, at] = [1, head.index + head[0].length];
  for (const line of bare.slice(at).split('\n')) {
    const [, member] = MEMBER.exec(line) ?? [];
    const isHidden = /@internal[^/]*\*\/\s*$/.test(text.slice(0, at));
    if (depth === 1 && member !== undefined && member !== 'constructor' && !isHidden) members.push(member);
    depth += [...line.matchAll(/[{(]/g)].length - [...line.matchAll(/[})]/g)].length;
    at += line.length + 1;
    if (depth <= 0) break;
  }
  return members;
}

const MEMBER = /^ {2}(?!private)(?:(?:static|readonly|async|get) )*\*?(\w+)\??(?:<\w+>)?[(:]/;

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

/** Every class of errors that is thrown on purpose. */
export function errorsOf({ path, code }: Source): readonly DeclaredError[] {
  return [...code.matchAll(/\bclass (\w+) extends LeaseholdError \{(.*?)^\}/gms)].map(
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
