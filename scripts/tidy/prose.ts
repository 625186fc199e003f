/**
 * How plain the comments of a file are, as two counts per 1,000 words of comment: the pronouns `it` and `its`, and the
 * question words `who`, `what`, `whoever` used in place of a noun. A high count means that a reader has to find out which
 * thing a sentence is about. Comments of raft have 18 and 1; those of TigerBeetle, memberlist and hono 5 to 9 and at most 1.
 *
 * A new file has to stay within {@link PLAIN}. A file from before the rule may keep the figures that are recorded for it,
 * and never exceed them: the record is a ratchet. `npm run prose -- --update` lowers the record where a file improved.
 *
 * A limit is a rate, and a short comment cannot meet a rate exactly. So a file may have as many of these words as the
 * limit allows for its length, rounded up: in a comment of thirty words one `it` is always allowed.
 */

import { matches, type Source } from './source.ts';

/** Per 1,000 words of comment. */
export interface Rates {
  readonly it: number;
  readonly who: number;
}

export interface Prose extends Rates {
  readonly path: string;
  /** Counts, not rates. */
  readonly words: number;
  /** Words of nine letters and more: technical terms are long. Reported, not limited. */
  readonly long: number;
}

/** By path; a file that is not mentioned has the limits of {@link PLAIN}. */
export type Ratchet = Readonly<Record<string, Rates>>;

export const PLAIN: Rates = { it: 20, who: 6 };

const NAMES_OF_CODE = /`[^`\n]*`/g;
const WORD = /[a-z]+(?:['’-][a-z]+)*/i;
const IT = /^its?$/i;
const WHO = /^(?:who|whom|whose|whoever|whomever|what|whatever)$/i;

/** Counts of one file. */
export function proseOf({ path, comments }: Source): Prose {
  const counts = { words: 0, it: 0, who: 0, long: 0 };
  for (const [word] of matches(comments.replace(NAMES_OF_CODE, ''), WORD)) {
    counts.words += 1;
    if (IT.test(word)) counts.it += 1;
    if (WHO.test(word)) counts.who += 1;
    if (word.length >= 9) counts.long += 1;
  }
  return { path, ...counts };
}

export function sumOf(path: string, parts: readonly Prose[]): Prose {
  const sum = (of: (one: Prose) => number): number => parts.reduce((so, one) => so + of(one), 0);
  return {
    path,
    words: sum(({ words }) => words),
    it: sum(({ it }) => it),
    who: sum(({ who }) => who),
    long: sum(({ long }) => long),
  };
}

export const rate = (count: number, { words }: Prose): number => (words === 0 ? 0 : (1_000 * count) / words);

export function proseComplaints(file: Source, ratchet: Ratchet): string[] {
  const prose = proseOf(file);
  const limits = ratchet[file.path] ?? PLAIN;
  const hint = file.path in ratchet ? '' : '; a renamed file takes its line in prose-ratchet.json along';
  const allowed = (limit: number): number => Math.ceil((limit * prose.words) / 1_000);
  const complain = (count: number, limit: number, words: string): string[] =>
    count <= allowed(limit)
      ? []
      : [
          `${file.path}: ${count} times ${words} in ${prose.words} words of comment, but at most ${allowed(limit)} are allowed (${limit} per 1,000); name the thing instead${hint}`,
        ];
  return [
    ...complain(prose.it, limits.it, 'it, its'),
    ...complain(prose.who, limits.who, 'who, what, whoever …'),
  ];
}

/** The record after some files improved: no figure rises, and a file that is gone or plain by now is dropped. */
export function lowered(ratchet: Ratchet, files: readonly Source[]): Ratchet {
  const next: [string, Rates][] = [];
  for (const prose of files.map(proseOf)) {
    const before = ratchet[prose.path];
    if (before === undefined) continue;
    const rates = {
      it: Math.min(before.it, neededLimit(prose.it, prose, PLAIN.it)),
      who: Math.min(before.who, neededLimit(prose.who, prose, PLAIN.who)),
    };
    if (rates.it > PLAIN.it || rates.who > PLAIN.who) next.push([prose.path, rates]);
  }
  return Object.fromEntries(next.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The lowest whole limit that allows so many. */
function neededLimit(count: number, prose: Prose, least: number): number {
  if (count <= Math.ceil((least * prose.words) / 1_000)) return least;
  return Math.ceil(rate(count, prose));
}

/** One file a line, so that two changes of the record seldom meet. */
export function ratchetText(ratchet: Ratchet): string {
  const lines = Object.entries(ratchet).map(
    ([path, { it, who }]) => `  "${path}": { "it": ${it}, "who": ${who} }`,
  );
  return `{\n${lines.join(',\n')}\n}\n`;
}
