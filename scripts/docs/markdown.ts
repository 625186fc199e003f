/**
 * A document as the checks see it: its links, its headings, its tables, and its blocks of code. Not
 * all of Markdown, only how we write it here: blocks between fences, links in one line.
 *
 * The word after `ts` says what becomes of a block:
 *
 *     ts               it compiles, as a module of its own
 *     ts run           it also runs, and prints what the `text` block after it says, if there is one
 *     ts file=a.ts     it is that file, which other blocks of the same document may import
 *     ts ignore        a fragment; nobody looks at it
 */

export interface Block {
  readonly language: string;
  readonly words: readonly string[];
  readonly text: string;
  readonly line: number;
}

export interface Document {
  /** From the root of the repository, with slashes. */
  readonly path: string;
  readonly blocks: readonly Block[];
  /** Where links lead, as written. */
  readonly links: readonly { readonly target: string; readonly line: number }[];
  /** What can stand behind `#` in a link to it. */
  readonly anchors: ReadonlySet<string>;
  /** Rows of tables, by the heading they stand under; cells without the bars. */
  readonly rows: ReadonlyMap<string, readonly (readonly string[])[]>;
}

const FENCE = /^ *(`{3,})(.*)$/;
const LINK = /\[[^\]]*\]\(([^()\s]+)\)/g;
const PLACE = /<a id="([^"]+)"><\/a>/g;
const HEADING = /^#{1,6} +(.*)$/;

export function readDocument(path: string, text: string): Document {
  const blocks: Block[] = [];
  const links: { target: string; line: number }[] = [];
  const anchors = new Set<string>();
  const rows = new Map<string, (readonly string[])[]>();
  let heading = '';
  let open:
    | { readonly fence: string; readonly info: string; readonly line: number; lines: string[] }
    | undefined;

  for (const [index, line] of text.split('\n').entries()) {
    const [, fence, info = ''] = FENCE.exec(line) ?? [];
    if (open !== undefined) {
      if (fence?.startsWith(open.fence) && info.trim() === '') {
        const [language = '', ...words] = open.info.trim().split(/\s+/);
        blocks.push({ language, words, text: `${open.lines.join('\n')}\n`, line: open.line });
        open = undefined;
      } else open.lines.push(line);
      continue;
    }
    if (fence !== undefined) {
      open = { fence, info, line: index + 1, lines: [] };
      continue;
    }
    const title = HEADING.exec(line)?.[1];
    if (title !== undefined) {
      heading = title;
      anchors.add(freshAnchor(title, anchors));
    }
    for (const [, id = ''] of line.matchAll(PLACE)) anchors.add(id);
    if (line.startsWith('|')) rows.set(heading, [...(rows.get(heading) ?? []), cellsOf(line)]);
    for (const [, target = ''] of withoutCode(line).matchAll(LINK)) links.push({ target, line: index + 1 });
  }
  return { path, blocks, links, anchors, rows };
}

const cellsOf = (line: string): readonly string[] =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

const withoutCode = (line: string): string => line.replace(/`[^`]*`/g, '');

/** As GitHub makes them. */
function freshAnchor(title: string, taken: ReadonlySet<string>): string {
  const words = title.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  const anchor = words.replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-');
  let fresh = anchor;
  for (let again = 1; taken.has(fresh); again += 1) fresh = `${anchor}-${again}`;
  return fresh;
}
