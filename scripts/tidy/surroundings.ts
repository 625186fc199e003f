/**
 * Nobody but `node/` reads a clock, sets a timer, draws a random number, opens a socket or touches
 * a file. Every seed in every bug report stands on this: one forgotten `Date.now` and a run is no
 * longer the same twice.
 */

import { importsOf } from './imports.ts';
import { complaint, matches, type Source } from './source.ts';

const WORDS =
  /\bDate\.now\b|\bnew Date\s*\(|(?<![.\w$#])performance\b(?!\s*\??:)|\bset(?:Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|\bMath\.random\b|\brandom(?:UUID|Bytes|FillSync)\b|\bgetRandomValues\b|\bhrtime\b/;

const MODULES = new Set([
  ...['net', 'tls', 'dgram', 'dns', 'http', 'https', 'http2', 'fs', 'fs/promises', 'os', 'perf_hooks'],
  ...['timers', 'timers/promises', 'child_process', 'worker_threads', 'cluster', 'crypto'],
]);

/** A hash is the same everywhere; it lives in one file, so that nothing else of `crypto` slips in. */
const DIGEST = 'leasehold/src/runtime/digest.ts';

export function surroundingsComplaints(file: Source): string[] {
  const isCore = file.path.startsWith('leasehold/src/') && !file.path.startsWith('leasehold/src/node/');
  const isForTests = file.path.endsWith('.test.ts') || file.path.includes('/testing/');
  if (!isCore || isForTests) return [];
  const complaints: string[] = [];
  for (const match of matches(file.bare, WORDS)) {
    complaints.push(complaint(file, match.index, `${match[0]} is for node/ alone; ask the Runtime`));
  }
  for (const { at, module } of importsOf(file)) {
    const name = module.replace(/^node:/, '');
    if (!MODULES.has(name) || (name === 'crypto' && file.path === DIGEST)) continue;
    complaints.push(complaint(file, at, `${module} is for node/ alone; ask the Runtime`));
  }
  return complaints;
}
