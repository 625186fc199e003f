/**
 * The texts of this repository: what git would track, whether or not there is a git here.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Source, source } from './source.ts';

const LEFT_OUT = new Set(['node_modules', 'dist', 'coverage', '.git']);
const TEXT =
  /\.(?:[cm]?[jt]sx?|json|md|ya?ml|css|html|sh)$|^(?:LICENSE|run|\.npmrc|\.gitignore|\.editorconfig)$/;
const CODE = /\.[cm]?[jt]sx?$/;

export const isCode = ({ path }: Source): boolean => CODE.test(path);

export function readRepository(root: string, folder = ''): Source[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : readRepository(root, path);
    return entry.isFile() && TEXT.test(entry.name)
      ? [source(path, readFileSync(join(root, path), 'utf8'))]
      : [];
  });
}
