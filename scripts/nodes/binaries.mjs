/** Binaries of Node from the npm package `node`, kept in the cache. */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm } from '../build/package.mjs';
import { cache } from '../project.mjs';

/** The versions that the README says are supported. */
export const VERSIONS = ['20', '22', '24'];

/**
 * @param {string} version
 * @returns {Promise<{ readonly path: string } | { readonly why: string }>}
 */
export async function nodeBinary(version) {
  const folder = join(cache, 'leasehold-nodes', version);
  const path = join(folder, 'node_modules', 'node', 'bin', 'node');
  if (existsSync(path)) return { path };
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }');
  console.log(`Fetching Node ${version} from npm …`);
  try {
    await npm(`npm install node@${version}`, ['install', '--no-save', `node@${version}`], folder);
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
  return existsSync(path) ? { path } : { why: 'npm has no binary for this machine' };
}
