/**
 * Fewer files: esbuild makes a chunk for each set of entries that share code, and Node takes a third of a millisecond for a file, however small
 * the file is. So what several modules share is merged into two files, one without and one with the network.
 *
 *     entries     pool  flease  quorum  …            a rate limiter of one process
 *                   └──────┴───────┴──► network.js ──► shared.js ◄──┘
 *
 * Whatever a chunk needs is needed by at least as many entries, so a group never needs a chunk outside of it, but for `shared.js`: no cycle comes about.
 * Chunks name their exports for themselves, so in a group each name gets the number of its chunk.
 */

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { build } from 'esbuild';

/** How many entries make it worth while that all of them load the code. */
const SHARED_BY = 5;
const NETWORK = /^node:(?:net|tls|https?|http2|dgram)$/;
const IMPORTS = /(?:^|\n)import (?:\{([^}]*)\} from )?"([^"]+)";/g;
const EXPORTS = /(?:^|\n)export \{([^}]*)\};/g;

/**
 * @typedef {object} Chunk
 * @property {string} path
 * @property {string} text
 * @property {readonly string[]} needs paths of chunks
 * @property {boolean} opensSockets
 */

/** @param {string} dist @param {readonly string[]} entries paths of the files that users import */
export async function mergeChunks(dist, entries) {
  const folder = join(dist, 'chunks');
  const files = new Map(
    [...entries, ...readdirSync(folder).map((name) => join(folder, name))]
      .filter((path) => existsSync(path))
      .map((path) => [path, read(path)]),
  );
  /** @type {Map<string, number>} */
  const users = new Map();
  for (const entry of entries)
    for (const path of closureOf(entry, files)) users.set(path, (users.get(path) ?? 0) + 1);
  const isShared = (/** @type {string} */ path) =>
    dirname(path) === folder && (users.get(path) ?? 0) >= SHARED_BY;
  const usesNetwork = (/** @type {string} */ path) =>
    [...closureOf(path, files)].some((each) => files.get(each)?.opensSockets);
  const shared = [...files.keys()].filter(isShared);
  const plain = shared.filter((path) => !usesNetwork(path));
  await merge(join(folder, 'shared.js'), plain, files);
  await merge(
    join(folder, 'network.js'),
    shared.filter((path) => !plain.includes(path)),
    files,
  );
}

/** @param {string} path @returns {Chunk} */
function read(path) {
  const text = readFileSync(path, 'utf8');
  const named = [...text.matchAll(IMPORTS)].map(([, , name = '']) => name);
  const needs = named.filter((name) => name.startsWith('.')).map((name) => resolve(dirname(path), name));
  return { path, text, needs, opensSockets: named.some((name) => NETWORK.test(name)) };
}

/** @param {string} from @param {ReadonlyMap<string, Chunk>} files @returns {ReadonlySet<string>} */
function closureOf(from, files) {
  const reached = new Set([from]);
  for (const path of reached) for (const need of files.get(path)?.needs ?? []) reached.add(need);
  return reached;
}

/** @param {string} target @param {readonly string[]} group @param {Map<string, Chunk>} files */
async function merge(target, group, files) {
  const names = new Map(group.map((path, at) => [path, exportsOf(path, at, files)]));
  const contents = [...names].map(
    ([path, exported]) =>
      `export { ${[...exported].map(([name, alias]) => `${name} as ${alias}`).join(', ')} } from './${basename(path)}';`,
  );
  await build({
    stdin: { contents: contents.join('\n'), resolveDir: dirname(target), loader: 'js' },
    ...{ outfile: target, bundle: true, format: 'esm', platform: 'node', target: 'node20.3' },
    ...{ minifySyntax: true, packages: 'external', external: ['./shared.js'], logLevel: 'warning' },
  });
  for (const path of group) rmSync(path);
  for (const file of files.values()) {
    if (group.includes(file.path)) continue;
    const text = file.text.replaceAll(IMPORTS, (line, imported, name) => {
      const exported = name.startsWith('.') ? names.get(resolve(dirname(file.path), name)) : undefined;
      if (exported === undefined) return line;
      const list = pairsIn(imported).map(([outer, inner]) => `${exported.get(outer)} as ${inner}`);
      return list.length === 0 ? '' : `\nimport { ${list.join(', ')} } from "${here(file.path, target)}";`;
    });
    writeFileSync(file.path, text);
    files.set(file.path, { ...read(file.path), path: file.path });
  }
  // What is loaded when it is first used is named by its old path.
  for (const [path, exported] of names) {
    const isLoadedLater = [...files.values()].some(({ text }) => text.includes(`/${basename(path)}")`));
    if (!isLoadedLater) continue;
    const list = [...exported].map(([name, alias]) => `${alias} as ${name}`);
    writeFileSync(path, `export { ${list.join(', ')} } from "./${basename(target)}";\n`);
  }
  for (const path of group) files.delete(path);
}

/** Each name that a chunk exports, and the name in the group. @param {string} path @param {number} at @param {ReadonlyMap<string, Chunk>} files */
function exportsOf(path, at, files) {
  const lists = [...(files.get(path)?.text ?? '').matchAll(EXPORTS)].flatMap(([, list = '']) =>
    pairsIn(list),
  );
  return new Map(lists.map(([, outer]) => [outer, `${outer}_${at}`]));
}

/** `a, b as c` as pairs. @param {string | undefined} list @returns {(readonly [string, string])[]} */
const pairsIn = (list = '') =>
  list
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
    .map((each) => {
      const [one = '', other = one] = each.split(' as ');
      return [one, other];
    });

/** @param {string} from @param {string} to */
function here(from, to) {
  const path = relative(dirname(from), to);
  return path.startsWith('.') ? path : `./${path}`;
}
