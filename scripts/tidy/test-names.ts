/**
 * The name of a test, after the names of its groups, is a sentence that stands alone in a failure report:
 *
 *     a member that releases a lease > leaves it for the member that has waited longest
 *
 * A machine can see four ways to fail at that. A group that begins with a pronoun has no subject. A test that begins with a pronoun or a
 * conjunction means something that the report does not show. "Whoever" always stands for a noun that exists. And three words are no sentence.
 */

import type { Source } from './source.ts';

interface TestName {
  readonly line: number;
  readonly groups: readonly string[];
  readonly name: string;
}

const QUOTED = /(?:'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/.source;
/** `it('…'`, `it.skipIf(…)('…'`, `it.each<T>([` … `])('…'`, and the same of `describe`. Our formatter puts the last line where the first began. */
const NAMED = new RegExp(
  `^( *)(?:(describe|it)\\b[\\w.]*(?:<.*>)?(?:\\([^'"\`]*\\))?\\(\\s*${QUOTED},|\\](?: as const)?\\)\\(\\s*${QUOTED},)`,
  'gm',
);
const GROUP_WITHOUT_SUBJECT = /^(?:who|whom|whose|whoever|what|that|those|it|they)\b/i;
const TEST_WITHOUT_SUBJECT = /^(?:it|they|so|then|but|nor|neither|who|whom|whoever|what)\b/i;
const WORDS_MIN = 4;

/** The tests of a file, in order. */
export function testNamesOf({ text }: Pick<Source, 'text'>): readonly TestName[] {
  const names: TestName[] = [];
  const groups: { readonly indent: number; readonly name: string }[] = [];
  for (const match of text.matchAll(NAMED)) {
    const [, spaces = '', head, ...quoted] = match;
    const name = quoted.find((one) => one !== undefined) ?? '';
    const indent = spaces.length;
    const opener = new RegExp(`^ {${indent}}(describe|it)\\b(?![^]*^ {${indent}}(?:describe|it)\\b)`, 'm');
    const kind = head ?? opener.exec(text.slice(0, match.index))?.[1];
    while ((groups.at(-1)?.indent ?? -1) >= indent) groups.pop();
    if (kind === 'describe') groups.push({ indent, name });
    else {
      const line = text.slice(0, match.index).split('\n').length;
      names.push({ line, groups: groups.map((group) => group.name), name });
    }
  }
  return names;
}

export function testNameComplaints(source: Pick<Source, 'path' | 'text'>): readonly string[] {
  if (!source.path.endsWith('.test.ts')) return [];
  return testNamesOf(source).flatMap(({ line, groups, name }) => {
    const whole = [...groups, name].join(' > ');
    const why = complaint(groups, name);
    return why === undefined ? [] : [`${source.path}:${line}: "${whole}" ${why}`];
  });
}

function complaint(groups: readonly string[], name: string): string | undefined {
  if (groups.some((group) => GROUP_WITHOUT_SUBJECT.test(group)))
    return 'is in a group without a subject: name the thing';
  if (TEST_WITHOUT_SUBJECT.test(name)) return 'begins with a pronoun or a conjunction: name the thing';
  if ([...groups, name].some((part) => /\bwho(?:m)?ever\b/i.test(part)))
    return 'says "whoever": name the thing';
  const words = [...groups, name].join(' ').split(/\s+/).length;
  return words < WORDS_MIN ? 'is no sentence' : undefined;
}
