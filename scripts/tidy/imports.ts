/**
 * Which folder of `leasehold/src` may import which. Imports go one way:
 *
 *     runtime ◄── node, sim
 *        ▲
 *        ├── etcd ◄── log ◄── pool, flease, quorum, membership, ratelimit, objects
 *        └──────────────────────┘
 *
 * so that a protocol can be read, tested and simulated without the next one. Only a Manager that keeps nothing is elected by
 * flease, and one whose log is in a quorum group has a replica beside it; that is put together where its core meets the world, real (`pool/shell/`) or simulated. A rate limit is shared in a pool (`ratelimit/shell/`), or spread over a group (`membership`). Two kinds of files
 * stand outside the order: proofs (a protocol's `simulation/`, the tests) also use `sim`,
 * and a protocol's `shell/`, which puts its cores into real processes, also uses `node`, and so does what
 * is only for tests (`testing/`, `-script.ts`).
 */

import { posix } from 'node:path';
import { complaint, matches, type Source } from './source.ts';

const LAYERS: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  node: ['runtime'],
  sim: ['runtime'],
  // A client of etcd, and a simulated etcd.
  etcd: ['runtime'],
  log: ['runtime', 'etcd'],
  pool: ['runtime', 'etcd', 'log'],
  flease: ['runtime', 'log'],
  quorum: ['runtime', 'log'],
  membership: ['runtime', 'etcd', 'log'],
  ratelimit: ['runtime', 'etcd', 'log', 'membership'],
  objects: ['runtime', 'log'],
  // What `import 'leasehold'` opens.
  'index.ts': ['runtime', 'node', 'pool', 'flease', 'quorum', 'membership', 'ratelimit'],
  // What `import 'leasehold/security'` opens.
  'security.ts': ['node'],
  // What the command line opens, and nobody else can.
  'internal.ts': ['runtime', 'node', 'pool', 'flease', 'quorum'],
};

const ROOT = 'leasehold/src/';
const IMPORT = /(?:\bfrom\s*|\bimport\s*\(?\s*)(['"])([^'"\n]+)\1/;

export function importComplaints(file: Source): string[] {
  const complaints: string[] = [];
  for (const { at, module } of importsOf(file)) {
    const wrong = module.startsWith('.')
      ? wrongWith(file.path, posix.join(posix.dirname(file.path), module))
      : /^leasehold(\/|$)/.test(module) && file.path.startsWith(ROOT)
        ? 'the package imports itself by its public name'
        : undefined;
    if (wrong !== undefined) complaints.push(complaint(file, at, `imports ${module}: ${wrong}`));
  }
  return complaints;
}

/** Every module that is imported, exported from, or loaded. */
export function* importsOf(file: Source): Generator<{ readonly at: number; readonly module: string }> {
  for (const match of matches(file.code, IMPORT)) yield { at: match.index, module: match[2] ?? '' };
}

function wrongWith(path: string, target: string): string | undefined {
  const folder = posix.dirname(target);
  if (posix.basename(target) === 'index.ts' && path.startsWith(`${folder}/`)) {
    return 'an index.ts is for those outside its folder; import the file that defines the thing';
  }
  if (!path.startsWith(ROOT)) return deepInCommandLine(path, target);
  const [from, to] = [layerOf(path), layerOf(target)];
  if (from === to) return undefined;
  const allowed = LAYERS[from];
  if (allowed === undefined) return `${from} is not a known folder; say in imports.ts what it may import`;
  if (allowed.includes(to) || (to === 'sim' && maySimulate(path, from))) return undefined;
  if (to === 'node' && mayBeReal(path)) return undefined;
  if (from === 'pool' && to === 'flease' && /^pool\/(shell|simulation)\//.test(path.slice(ROOT.length)))
    return undefined;
  if (from === 'pool' && to === 'quorum' && path.startsWith(`${ROOT}pool/shell/`)) return undefined;
  if (from === 'ratelimit' && to === 'pool' && path.startsWith(`${ROOT}ratelimit/shell/`)) return undefined;
  return `${from} may import ${allowed.length === 0 ? 'nothing of ours' : `only ${allowed.join(' and ')}`}`;
}

/** The command line uses the library by published names, and by one door for the rest; tests may look at everything. */
const deepInCommandLine = (path: string, target: string): string | undefined =>
  target.startsWith(ROOT) && /^apps\/cli\/src\/(?!.*(\.test\.ts$|testing\/))/.test(path)
    ? 'the command line imports leasehold/… or leasehold/internal (leasehold/src/internal.ts)'
    : undefined;

const layerOf = (path: string): string =>
  path.startsWith(ROOT) ? (path.slice(ROOT.length).split('/')[0] ?? '') : path;

function maySimulate(path: string, layer: string): boolean {
  const isProof = path.endsWith('.test.ts');
  if (layer === 'etcd') return isProof || path.startsWith(`${ROOT}etcd/simulation/`);
  if (layer === 'log') return isProof || /^log\/\w+\/simulation\//.test(path.slice(ROOT.length));
  const isProtocol = LAYERS[layer]?.includes('log') === true;
  return isProtocol && (isProof || path.startsWith(`${ROOT}${layer}/simulation/`));
}

function mayBeReal(path: string): boolean {
  const isForTests = path.endsWith('.test.ts') || path.includes('/testing/');
  return isForTests || /^\w+\/shell\//.test(path.slice(ROOT.length));
}
