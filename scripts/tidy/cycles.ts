/**
 * Files that import each other, also when only types are imported: none of them can be read first. A cycle is a largest set of files of which each leads to each.
 */

import { posix } from 'node:path';
import { importsOf } from './imports.ts';
import type { Source } from './source.ts';

/** Of each cycle the files, in the order of the alphabet. By the algorithm of Tarjan. */
export function cyclesIn(files: readonly Source[]): readonly (readonly string[])[] {
  const imports = new Map(files.map((file) => [file.path, [...targetsOf(file)]]));
  const numbers = new Map<string, number>();
  const lowest = new Map<string, number>();
  const path: string[] = [];
  const cycles: string[][] = [];
  const low = (file: string): number => lowest.get(file) ?? Number.POSITIVE_INFINITY;
  const visit = (file: string): void => {
    numbers.set(file, numbers.size);
    lowest.set(file, numbers.size - 1);
    path.push(file);
    for (const next of imports.get(file) ?? []) {
      if (!imports.has(next)) continue;
      if (!numbers.has(next)) visit(next);
      else if (!path.includes(next)) continue;
      lowest.set(file, Math.min(low(file), low(next)));
    }
    if (low(file) !== numbers.get(file)) return;
    const cycle = path.splice(path.indexOf(file));
    if (cycle.length > 1) cycles.push(cycle.sort());
  };
  for (const file of imports.keys()) if (!numbers.has(file)) visit(file);
  return cycles;
}

function* targetsOf(file: Source): Generator<string> {
  for (const { module } of importsOf(file)) {
    if (module.startsWith('.')) yield posix.join(posix.dirname(file.path), module);
  }
}
