/**
 * A renamed file leaves its old name behind in comments and documents, and a reader who looks for that name finds
 * nothing. So every name of a TypeScript file in backticks, with or without folders, must be the end of a path here. The change log tells of the past and may name files that are gone.
 */

import { complaint, matches, type Source } from './source.ts';

const MENTION = /`(?:\.{1,2}\/)*(\w[\w./-]*\.ts)`/;
const FENCED = /^```[\s\S]*?^```/gm;

export function mentionComplaints(file: Source, paths: readonly string[]): string[] {
  if (file.path === 'CHANGELOG.md') return [];
  const ends = endsOf(paths);
  const isDocument = file.path.endsWith('.md');
  const prose = isDocument
    ? file.text.replaceAll(FENCED, (block) => ' '.repeat(block.length))
    : file.comments;
  return [...matches(prose, MENTION)].flatMap((match) => {
    const [, path = ''] = match;
    return ends.has(path) ? [] : [complaint(file, match.index, `there is no file ${path}`)];
  });
}

const known = new WeakMap<readonly string[], ReadonlySet<string>>();

/** Every path, and its ends after each slash. */
function endsOf(paths: readonly string[]): ReadonlySet<string> {
  let ends = known.get(paths);
  if (ends === undefined) {
    ends = new Set(paths.flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(at).join('/'))));
    known.set(paths, ends);
  }
  return ends;
}
