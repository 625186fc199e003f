/**
 * Small things that are quicker to keep than to argue about: nothing left for later in the text,
 * no test left out, no default export, and nothing that says on whose machine it was written.
 */

import { complaint, matches, type Source } from './source.ts';

const LATER = /\b(?:TO-?DO|FIX-?ME)\b/;
const LEFT_OUT = /\b(?:it|test|describe|suite|bench)\s*\.(?:only|skip|todo)\b/;
const DEFAULT_EXPORT = /\bexport\s+default\b|\bexport\s*\{[^}]*\bas\s+default\b/;
const MACHINE_PATH =
  /(?<![\w.~$}-])(?:\/(?:home|Users|root|work|mnt|private)\/|[A-Za-z]:\\+Users\\+)[\w.@-]+/;

/** For source code. */
export function codeComplaints(file: Source): string[] {
  const complaints: string[] = [];
  const search = (reading: string, pattern: RegExp, sentence: (found: string) => string): void => {
    for (const match of matches(reading, pattern)) {
      complaints.push(complaint(file, match.index, sentence(match[0])));
    }
  };
  search(file.text, LATER, (found) => `${found}: do it now, or write it where work is planned`);
  search(file.bare, LEFT_OUT, (found) => `${found} leaves tests out`);
  if (!/\.config\.[a-z]+$/.test(file.path)) {
    search(file.bare, DEFAULT_EXPORT, () => 'a default export has no name; export it by name');
  }
  return complaints;
}

/** For every text in the repository. */
export function placeComplaints(file: Source): string[] {
  return [...matches(file.text, MACHINE_PATH)].map((match) =>
    complaint(file, match.index, `${match[0]} is a path on somebody's machine`),
  );
}

/**
 * For `package-lock.json`: where a package was fetched from is the business of whoever installs it.
 * Only links to the workspaces are resolved to something, and that is a folder here.
 */
export function lockComplaints(file: Source): string[] {
  const complaints: string[] = [];
  for (const match of matches(file.text, /"resolved": "([^"]*)"|https?:\/\/[^"]*\.tgz/)) {
    const place = match[1] ?? match[0];
    if (/^[a-z][\w-]*(\/[\w-]+)*$/.test(place)) continue;
    complaints.push(complaint(file, match.index, `${place} says where it was fetched from`));
  }
  return complaints;
}
