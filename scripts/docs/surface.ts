/**
 * The public surface as the compiler sees it: what every entry of `exports` offers, with the comments above the declarations.
 *
 * The compiler is asked, not the text: a name goes through several `index.ts`, may be renamed on the way, and may stand for a function that is
 * loaded later (`export const joinPool: typeof JoinPool`). Comments are those that an editor shows.
 */

import { API, type Checker, type Project, type Symbol as Named, SymbolFlags } from 'typescript/unstable/sync';
import { type Node, SyntaxKind } from 'typescript/unstable/ast';

export interface Surface {
  /** The entries, in the order of `exports`. */
  readonly doors: readonly Door[];
}

export interface Door {
  /** As in an import: `leasehold/pool`. */
  readonly name: string;
  /** The comment at the head of its `index.ts`. */
  readonly says: string;
  readonly exports: readonly Exported[];
}

export type Kind = 'function' | 'value' | 'class' | 'interface' | 'type';

export interface Exported {
  readonly name: string;
  readonly kind: Kind;
  /** The same for the same declaration, whichever door offers it. */
  readonly id: string;
  /** From the root of the repository. */
  readonly path: string;
  /** As a user would write or read it; of a class or an interface, without the members. */
  readonly signature: string;
  readonly says: Comment;
  readonly members: readonly Member[];
  /** What it extends, by name, as far as that is published, too. */
  readonly bases: readonly string[];
}

export interface Member {
  readonly name: string;
  readonly signature: string;
  readonly says: Comment;
}

export interface Comment {
  /** Empty if there is none. Paragraphs are parted by empty lines. */
  readonly text: string;
  readonly tags: readonly { readonly name: string; readonly text: string }[];
}

interface Place {
  readonly name: string;
  /** The source of the entry: `leasehold/src/pool/index.ts`. */
  readonly path: string;
}

/** @param root of the repository */
export function readSurface(root: string, places: readonly Place[]): Surface {
  const configuration = `${root}/leasehold/tsconfig.build.json`;
  const api = new API({ cwd: root });
  try {
    const project = api.updateSnapshot({ openProjects: [configuration] }).getProject(configuration);
    if (project === undefined) throw new Error(`the compiler has not opened ${configuration}`);
    return new Reader(root, project).surface(places);
  } finally {
    api.close();
  }
}

const HIDDEN_NAME = /^[#_[]/;

class Reader {
  readonly #root: string;
  readonly #project: Project;
  readonly #checker: Checker;
  /** Names of what any door offers, by declaration. */
  readonly #published = new Map<number, string>();
  readonly #read = new Map<number, Exported>();

  constructor(root: string, project: Project) {
    this.#root = root;
    this.#project = project;
    this.#checker = project.checker;
  }

  surface(places: readonly Place[]): Surface {
    const opened = places.map(({ name, path }) => {
      const file = this.#project.program.getSourceFile(`${this.#root}/${path}`);
      const module = file && this.#checker.getSymbolAtLocation(file);
      if (file === undefined || module === undefined) throw new Error(`${path} is no module`);
      const symbols = this.#checker
        .getExportsOfModule(module)
        .map((each) => [each.name, this.#original(each)] as const);
      return { name, text: file.text, symbols };
    });
    for (const { symbols } of opened)
      for (const [name, symbol] of symbols)
        if (!this.#published.has(symbol.id)) this.#published.set(symbol.id, name);
    return {
      doors: opened.map(({ name, text, symbols }) => ({
        name,
        says: headOf(text),
        exports: symbols.map(([known, symbol]) => ({ ...this.#exported(symbol), name: known })),
      })),
    };
  }

  /** Through renames, and from a function that is loaded later to the one it stands for. */
  #original(symbol: Named): Named {
    const found = symbol.flags & SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
    const type = declarationOf(found).type;
    if (type?.kind !== SyntaxKind.TypeQuery || type.exprName === undefined) return found;
    const target = this.#checker.getSymbolAtLocation(type.exprName);
    return target === undefined ? found : this.#original(target);
  }

  #exported(symbol: Named): Exported {
    const known = this.#read.get(symbol.id);
    if (known !== undefined) return known;
    const node = declarationOf(symbol);
    const path = node.getSourceFile().fileName.slice(this.#root.length + 1);
    const [kind, signature] = describe(symbol.name, node);
    const exported: Exported = {
      name: symbol.name,
      kind,
      id: `${path}#${symbol.name}`,
      path,
      signature,
      says: this.#comment(symbol),
      members: kind === 'class' || kind === 'interface' ? this.#members(node) : [],
      bases: this.#bases(node).flatMap((base) => this.#published.get(base.id) ?? []),
    };
    this.#read.set(symbol.id, exported);
    return exported;
  }

  /** Its own, and those of bases that no door offers. */
  #members(node: Declaration): readonly Member[] {
    const own = (node.members ?? []).flatMap((member): Member[] => {
      const written = memberSignature(member);
      const symbol = member.name && this.#checker.getSymbolAtLocation(member.name);
      if (written === undefined || symbol === undefined) return [];
      const says = this.#comment(symbol);
      return says.tags.some(({ name }) => name === 'internal') ? [] : [{ ...written, says }];
    });
    const inherited = this.#bases(node)
      .filter((base) => !this.#published.has(base.id))
      .flatMap((base) => base.declarations.flatMap(() => this.#members(declarationOf(base))));
    const all = [...own, ...inherited];
    // Overloads, and a getter beside its setter, are one member.
    return all.filter(({ name }, index) => all.findIndex((each) => each.name === name) === index);
  }

  #bases(node: Declaration): readonly Named[] {
    return (node.heritageClauses ?? [])
      .filter(({ token }) => token === SyntaxKind.ExtendsKeyword)
      .flatMap(({ types }) => [...types])
      .flatMap(({ expression }) => {
        const symbol = this.#checker.getSymbolAtLocation(expression);
        const base = symbol && this.#original(symbol);
        return base === undefined || !ownPath(base) ? [] : [base];
      });
  }

  #comment(symbol: Named): Comment {
    return {
      text: this.#checker.getDocumentationCommentOfSymbol(symbol).trim(),
      tags: this.#checker
        .getJsDocTagsOfSymbol(symbol)
        .map(({ name, text }) => ({ name, text: (text ?? '').trim() })),
    };
  }
}

/** As far as it is needed here; the compiler's own types have a class for each kind. */
interface Declaration extends Node {
  readonly name?: Node;
  readonly type?: Node & { readonly exprName?: Node };
  readonly initializer?: Node & Partial<Pick<Declaration, 'parameters' | 'type'>>;
  readonly parameters?: readonly Declaration[];
  readonly typeParameters?: readonly Node[];
  readonly members?: readonly Declaration[];
  readonly modifiers?: readonly Node[];
  /** Of a parameter; of a member the question mark is a `postfixToken`. */
  readonly questionToken?: Node;
  readonly postfixToken?: Node;
  readonly dotDotDotToken?: Node;
  readonly heritageClauses?: readonly {
    readonly token: SyntaxKind;
    readonly types: readonly { readonly expression: Node }[];
  }[];
}

function declarationOf(symbol: Named): Declaration {
  const node = symbol.declarations[0]?.resolve();
  if (node === undefined) throw new Error(`${symbol.name} is declared nowhere`);
  return node as Declaration;
}

const ownPath = (symbol: Named): boolean => symbol.declarations[0]?.path.includes('/leasehold/src/') === true;

/** The comment at the head of a file, as prose. */
function headOf(text: string): string {
  const [, head = ''] = /^\/\*\*(.*?)\*\//s.exec(text) ?? [];
  return head.replace(/^\s*\* ?/gm, '').trim();
}

const textOf = (node: Node | undefined): string => node?.getText().replace(/\s+/g, ' ') ?? '';

function describe(name: string, node: Declaration): readonly [Kind, string] {
  switch (node.kind) {
    case SyntaxKind.FunctionDeclaration:
      return [
        'function',
        `${name}${typeParametersOf(node)}(${parametersOf(node, 'typed')})${resultOf(node)}`,
      ];
    case SyntaxKind.ClassDeclaration:
      return ['class', `class ${name}${typeParametersOf(node)}`];
    case SyntaxKind.InterfaceDeclaration:
      return ['interface', `interface ${name}${typeParametersOf(node)}`];
    case SyntaxKind.TypeAliasDeclaration:
      return ['type', `type ${name}${typeParametersOf(node)} = ${textOf(node.type)}`];
    case SyntaxKind.VariableDeclaration: {
      const { initializer } = node;
      if (node.type === undefined && initializer?.parameters !== undefined)
        return [
          'function',
          `${name}(${parametersOf(initializer as Declaration, 'typed')})${resultOf(initializer)}`,
        ];
      return ['value', `const ${name}: ${textOf(node.type)}`];
    }
    default:
      throw new Error(`${name} is of a kind that the reference does not know: ${SyntaxKind[node.kind]}`);
  }
}

const typeParametersOf = ({ typeParameters }: Declaration): string =>
  typeParameters === undefined || typeParameters.length === 0
    ? ''
    : `<${typeParameters.map(textOf).join(', ')}>`;

const resultOf = ({ type }: Pick<Declaration, 'type'>): string =>
  type === undefined ? '' : `: ${textOf(type)}`;

function parametersOf({ parameters = [] }: Pick<Declaration, 'parameters'>, how: 'typed' | 'named'): string {
  return parameters
    .map((parameter) => {
      // A parameter that is taken apart at once has no name for the caller.
      const said = textOf(parameter.name);
      const name = /^[{[]/.test(said) ? 'options' : said;
      const rest = parameter.dotDotDotToken === undefined ? '' : '...';
      const optional =
        parameter.questionToken !== undefined || parameter.initializer !== undefined ? '?' : '';
      return `${rest}${name}${optional}${how === 'typed' ? resultOf(parameter) : ''}`;
    })
    .join(', ');
}

function memberSignature(member: Declaration): Omit<Member, 'says'> | undefined {
  const name = textOf(member.name);
  const isPrivate = member.modifiers?.some(({ kind }) => kind === SyntaxKind.PrivateKeyword) === true;
  if (name === '' || HIDDEN_NAME.test(name) || isPrivate) return undefined;
  const isStatic = member.modifiers?.some(({ kind }) => kind === SyntaxKind.StaticKeyword) === true;
  const optional = member.postfixToken?.kind === SyntaxKind.QuestionToken ? '?' : '';
  const known = `${isStatic ? 'static ' : ''}${name}`;
  switch (member.kind) {
    case SyntaxKind.MethodDeclaration:
    case SyntaxKind.MethodSignature:
      return { name, signature: `${known}${optional}(${parametersOf(member, 'named')})${resultOf(member)}` };
    case SyntaxKind.PropertyDeclaration:
    case SyntaxKind.PropertySignature:
    case SyntaxKind.GetAccessor:
      return {
        name,
        signature: `${known}${optional}${resultOf(member)}`.replace(
          / \| undefined$/,
          optional === '' ? '$&' : '',
        ),
      };
    default:
      return undefined;
  }
}
