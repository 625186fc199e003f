/**
 * A source file as the tidy checks read it, in four ways: the text, the text without comments, the text without comments
 * and quoted strings, and the comments alone.
 *
 * A rule about code must not be broken by a word in a comment or in a message; but the name of an imported module is
 * in quotes too, and names of files are looked for in comments only. Each check takes the reading that fits. Left-out
 * characters become blanks, so that every line and column stays in place.
 */

export interface Source {
  /** From the root of the repository, with slashes: `leasehold/src/pool/core/table.ts`. */
  readonly path: string;
  readonly text: string;
  /** Without comments. */
  readonly code: string;
  /** Without comments and without the insides of strings, templates and regular expressions. */
  readonly bare: string;
  /** Nothing but comments. */
  readonly comments: string;
}

export function source(path: string, text: string): Source {
  const [code, bare] = [text.split(''), text.split('')];
  const comments: string[] = bare.map((character) => (character === '\n' ? '\n' : ' '));
  for (const { kind, start, end } of pieces(text)) {
    for (let at = start; at < end; at += 1) {
      if (text[at] === '\n') continue;
      bare[at] = ' ';
      if (kind === 'quoted') continue;
      code[at] = ' ';
      comments[at] = text[at] ?? ' ';
    }
  }
  return { path, text, code: code.join(''), bare: bare.join(''), comments: comments.join('') };
}

/** A complaint about a place in a file, as editors and terminals like it. */
export function complaint(file: Source, at: number, sentence: string): string {
  const line = file.text.slice(0, at).split('\n').length;
  return `${file.path}:${line}: ${sentence}`;
}

/** Every match of `pattern` in one reading of the file. */
export function* matches(text: string, pattern: RegExp): Generator<RegExpExecArray & { readonly 0: string }> {
  yield* text.matchAll(new RegExp(pattern, `${pattern.flags.replace('g', '')}g`));
}

interface Piece {
  readonly kind: 'comment' | 'quoted';
  readonly start: number;
  readonly end: number;
}

/** A slash after one of these, or after one of these words, begins a regular expression. */
const BEFORE_PATTERN = /(?:^|[(,=:[!&|?{};+*%<>~^-]|\b(?:return|typeof|case|in|of|void|throw))\s*$/;

function* pieces(text: string): Generator<Piece> {
  /** Depths of braces at which a template goes on after `${…}`. */
  const templates: number[] = [];
  let depth = 0;
  let at = 0;
  while (at < text.length) {
    const two = text.slice(at, at + 2);
    const start = at;
    if (two === '//') {
      at = endOf(text, '\n', at);
      yield { kind: 'comment', start, end: at };
    } else if (two === '/*') {
      at = Math.min(endOf(text, '*/', at + 2) + 2, text.length);
      yield { kind: 'comment', start, end: at };
    } else if (text[at] === "'" || text[at] === '"') {
      at = endOfQuoted(text, at + 1, text[at] ?? '');
      yield { kind: 'quoted', start: start + 1, end: at - 1 };
    } else if (text[at] === '/' && BEFORE_PATTERN.test(text.slice(Math.max(0, at - 20), at))) {
      at = endOfPattern(text, at + 1);
      yield { kind: 'quoted', start: start + 1, end: at - 1 };
    } else if (text[at] === '`' || (text[at] === '}' && templates.at(-1) === depth)) {
      if (text[at] === '}') templates.pop();
      at = endOfTemplate(text, at + 1);
      const opens = text[at - 1] === '{';
      if (opens) templates.push(depth);
      yield { kind: 'quoted', start: start + 1, end: opens ? at - 2 : at - 1 };
    } else {
      if (text[at] === '{') depth += 1;
      if (text[at] === '}') depth -= 1;
      at += 1;
    }
  }
}

function endOf(text: string, mark: string, from: number): number {
  const at = text.indexOf(mark, from);
  return at < 0 ? text.length : at;
}

/** Behind the closing quote, or behind the line, which a quoted string cannot outlast. */
function endOfQuoted(text: string, from: number, quote: string): number {
  let at = from;
  while (at < text.length && text[at] !== quote && text[at] !== '\n') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function endOfPattern(text: string, from: number): number {
  let at = from;
  let inClass = false;
  while (at < text.length && text[at] !== '\n' && (inClass || text[at] !== '/')) {
    if (text[at] === '[') inClass = true;
    if (text[at] === ']') inClass = false;
    at += text[at] === '\\' ? 2 : 1;
  }
  return at + 1;
}

/** Behind the closing backtick, or behind the brace of the next `${`. */
function endOfTemplate(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== '`') {
    if (text.startsWith('${', at)) return at + 2;
    at += text[at] === '\\' ? 2 : 1;
  }
  return at + 1;
}
