/**
 * `docs/reference.md`: every name that the package exports, with the sentences above its declaration. `npm run reference` writes the page, and
 * a test compares. Whoever wants another sentence there changes the comment, which editors show as well.
 *
 * A name that several modules offer is described once, in the section of what they share.
 */

import { readFileSync } from 'node:fs';
import { type Comment, type Door, type Exported, type Member, readSurface, type Surface } from './surface.ts';

/** Entries for those who build on the simulator or the logs: their sources are their reference. */
const LEFT_OUT = new Set([
  ...[
    'leasehold/pool/core',
    'leasehold/pool/simulation',
    'leasehold/log',
    'leasehold/sim',
    'leasehold/runtime',
  ],
]);

const INTRODUCTION = `# Reference

Every name that the package exports, by the module it is imported from. What the options mean together is in [options](options.md), what to do about
an error in [errors](errors.md), why any of this is so in [concepts](concepts.md).

Not here are the entries for those who build on the simulator and the logs (\`leasehold/sim\`, \`leasehold/log\`, \`leasehold/runtime\`,
\`leasehold/pool/core\`, \`leasehold/pool/simulation\`).

This page is made of the comments in the sources by \`npm run reference\`; change it there.
`;

const SHARED = 'What the modules share';

const GROUPS: readonly { readonly title: string; readonly has: (each: Exported) => boolean }[] = [
  { title: 'Functions', has: ({ kind }) => kind === 'function' },
  { title: 'Values', has: ({ kind }) => kind === 'value' },
  { title: 'Objects', has: (each) => isObject(each) && !isOptions(each.name) },
  { title: 'Options', has: (each) => isObject(each) && isOptions(each.name) },
  { title: 'Types', has: ({ kind }) => kind === 'type' },
  { title: 'Errors', has: ({ kind, name }) => kind === 'class' && isError(name) },
];

const isError = (name: string): boolean => name.endsWith('Error');
const isOptions = (name: string): boolean => name.endsWith('Options');
const isObject = ({ kind, name }: Exported): boolean =>
  kind === 'interface' || (kind === 'class' && !isError(name));

/** The surface of this repository, without the entries for contributors. @param root of the repository */
export function surfaceOf(root: string): Surface {
  const manifest = JSON.parse(readFileSync(`${root}/leasehold/package.json`, 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  const places = Object.entries(manifest.exports).flatMap(([name, target]) => {
    const known = `leasehold${name.slice(1)}`;
    if (typeof target === 'string' || LEFT_OUT.has(known)) return [];
    return [
      { name: known, path: target.default.replace('./dist/', 'leasehold/src/').replace(/\.js$/, '.ts') },
    ];
  });
  return readSurface(root, places);
}

/**
 * What has no sentence and needs one: `leasehold/src/a.ts: Thing.method`. A property that says nothing more than its name and type may stay
 * silent, and errors have the members that all errors have.
 */
export function unsaid({ doors }: Surface): readonly string[] {
  const exported = new Map(doors.flatMap(({ exports }) => exports).map((each) => [each.id, each]));
  return [...exported.values()]
    .flatMap((each) => [
      ...(each.says.text === '' ? [`${each.path}: ${each.name}`] : []),
      ...each.members
        .filter(
          ({ says, signature }) => sentenceOf(says) === '' && signature.includes('(') && !isError(each.name),
        )
        .map(({ name }) => `${each.path}: ${each.name}.${name}`),
    ])
    .sort();
}

export function referenceOf({ doors }: Surface): string {
  const [root, ...modules] = doors;
  if (root === undefined) throw new Error('the package has no entries');
  const offers = new Map<string, number>();
  for (const { exports } of modules) for (const { id } of exports) offers.set(id, (offers.get(id) ?? 0) + 1);
  const homeOf = (each: Exported, door: Door): string =>
    offers.get(each.id) === 1 && door !== root
      ? door.name
      : (offers.get(each.id) ?? 0) > 1
        ? SHARED
        : door.name;
  const sections = new Map<string, Exported[]>([
    [root.name, []],
    ...modules.map(({ name }) => [name, []] as [string, Exported[]]),
    [SHARED, []],
  ]);
  const placed = new Set<string>();
  for (const door of [...modules, root])
    for (const each of door.exports) {
      if (placed.has(each.id)) continue;
      placed.add(each.id);
      sections.get(homeOf(each, door))?.push(each);
    }
  const titles = titlesOf([...sections].flatMap(([, exports]) => ordered(exports)));
  const writerFor = (exports: readonly Exported[]): Writer => new Writer(titles, exports, doors);

  return [
    INTRODUCTION,
    `Names of functions and methods: [by name](#by-name).\n`,
    ...[root, ...modules].flatMap((door) => {
      const here = sections.get(door.name) ?? [];
      const writer = writerFor(door.exports);
      const elsewhere = door.exports.filter((each) => !here.includes(each)).map(({ name }) => name);
      return [
        `## ${door.name}\n`,
        `${door.says}\n`,
        ...writer.groups(here),
        ...(elsewhere.length === 0 ? [] : [`Also: ${elsewhere.sort().map(writer.link).join(', ')}.\n`]),
      ];
    }),
    `## ${SHARED}\n`,
    ...writerFor([]).groups(sections.get(SHARED) ?? []),
    '## By name\n',
    writerFor([]).index([...sections.values()].flat()),
  ]
    .join('\n')
    .replace(/\n{3,}/g, '\n\n');
}

const ordered = (exports: readonly Exported[]): readonly Exported[] =>
  GROUPS.flatMap(({ has }) => exports.filter(has).sort((one, other) => (one.name < other.name ? -1 : 1)));

/** Two modules may give different things one name; the second heading then gets a number from its reader, and from us. */
function titlesOf(exports: readonly Exported[]): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  return new Map(
    exports.map(({ id, name }) => {
      let title = name;
      for (let again = 2; taken.has(anchorOf(title)); again += 1) title = `${name} (${again})`;
      taken.add(anchorOf(title));
      return [id, title];
    }),
  );
}

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');

class Writer {
  readonly #titles: ReadonlyMap<string, string>;
  readonly #known: ReadonlyMap<string, string>;

  /** @param own what the section's entry offers: two modules may give one name to two things */
  constructor(titles: ReadonlyMap<string, string>, own: readonly Exported[], doors: readonly Door[]) {
    this.#titles = titles;
    const all = [...doors.flatMap(({ exports }) => exports), ...own];
    this.#known = new Map(all.map(({ name, id }) => [name, titles.get(id) ?? name]));
  }

  /** Of a name, or of a member as `Thing.member`. */
  readonly link = (name: string): string => {
    const title = this.#known.get(name.split('.')[0] ?? name);
    return title === undefined ? `\`${name}\`` : `[\`${name}\`](#${anchorOf(title)})`;
  };

  groups(exports: readonly Exported[]): readonly string[] {
    return GROUPS.flatMap(({ title, has }) => {
      const group = exports.filter(has).sort((one, other) => (one.name < other.name ? -1 : 1));
      if (group.length === 0) return [];
      if (title === 'Errors') return [this.#errors(group)];
      return group.map((each) => this.#exported(each));
    });
  }

  /** Every function, and every method and property of an object, with where it is described. */
  index(exports: readonly Exported[]): string {
    const entries = exports.flatMap((each) => {
      const title = this.#titles.get(each.id) ?? each.name;
      const own = each.kind === 'function' || each.kind === 'value' ? [[each.name, title] as const] : [];
      const isAsked = each.members.some(({ signature }) => signature.includes('('));
      return [...own, ...(isAsked ? each.members.map(({ name }) => [name, title] as const) : [])];
    });
    const byName = new Map<string, string[]>();
    for (const [name, title] of entries) byName.set(name, [...(byName.get(name) ?? []), title]);
    return [
      '| name | described under |',
      '|---|---|',
      ...[...byName]
        .sort(([one], [other]) => (one.toLowerCase() < other.toLowerCase() ? -1 : 1))
        .map(
          ([name, titles]) =>
            `| \`${name}\` | ${titles.map((title) => `[${title}](#${anchorOf(title)})`).join(', ')} |`,
        ),
      '',
    ].join('\n');
  }

  #exported(each: Exported): string {
    const { says, members, bases } = each;
    const isLong = each.kind === 'function' || each.kind === 'type' || each.kind === 'value';
    return [
      `### ${this.#titles.get(each.id)}\n`,
      ...(isLong ? [`\`\`\`ts ignore\n${each.signature}\n\`\`\`\n`] : []),
      ...(says.text === '' ? [] : [`${this.#prose(says.text)}\n`]),
      ...this.#tags(says),
      ...(bases.length === 0 ? [] : [`With all of ${bases.map(this.link).join(' and ')}.\n`]),
      ...(members.length === 0 ? [] : [this.#members(members)]),
    ].join('\n');
  }

  #members(members: readonly Member[]): string {
    return [
      '| member | |',
      '|---|---|',
      ...members.map(
        ({ signature, says }) => `| \`${inCell(signature)}\` | ${inCell(this.#prose(sentenceOf(says)))} |`,
      ),
      '',
    ].join('\n');
  }

  #errors(errors: readonly Exported[]): string {
    return [
      '| error | when, and what to do |',
      '|---|---|',
      ...errors.map((each) => {
        const title = this.#titles.get(each.id) ?? each.name;
        return `| <a id="${anchorOf(title)}"></a>\`${each.name}\` | ${inCell(this.#prose(each.says.text))} |`;
      }),
      '',
    ].join('\n');
  }

  #tags({ tags }: Comment): readonly string[] {
    const lines = tags.flatMap(({ name, text }) => {
      if (name === 'throws') return [`- Throws ${this.#prose(text)}`];
      if (name === 'param') return [`- ${this.#prose(text.replace(/^(\w+)\s*/, '`$1`: '))}`];
      if (name === 'returns') return [`- Returns ${this.#prose(text)}`];
      if (name === 'default') return [`- Default: ${this.#prose(text)}`];
      return [];
    });
    return lines.length === 0 ? [] : [`${lines.join('\n')}\n`];
  }

  /** With links to other names; lines are joined, paragraphs and lists kept. */
  #prose(text: string): string {
    return (
      text
        // A tag names an error in braces; a link arrives as its name alone.
        .replace(/\{([A-Z]\w*)\}/g, (_, name: string) => this.link(name))
        .replace(/(?<![\w`[<.])[A-Z]\w*[a-z][A-Z]\w*(?![\w`\]])/g, (name) =>
          this.#known.has(name) ? this.link(name) : name,
        )
        .replace(/([^\n])\n(?!\s*(?:\n|[-*] ))\s*/g, '$1 ')
    );
  }
}

/** The comment of a member, its tags in words. */
function sentenceOf({ text, tags }: Comment): string {
  const more = tags.flatMap(({ name, text: said }) => {
    if (name === 'default') return [`Default: ${said.replace(/\.?$/, '.')}`];
    if (name === 'throws') return [`Throws ${said.replace(/\.?$/, '.')}`];
    if (name === 'returns') return [`Returns ${said.replace(/\.?$/, '.')}`];
    if (name === 'param') return [said.replace(/^(\w+)\s*/, '`$1`: ').replace(/\.?$/, '.')];
    return [];
  });
  return [text, ...more].filter((each) => each !== '').join(' ');
}

const inCell = (text: string): string =>
  text
    .replaceAll('|', '\\|')
    .replace(/\n\s*\n/g, '<br>')
    .replace(/\n\s*[-*] /g, '<br>· ')
    .replaceAll('\n', ' ');
