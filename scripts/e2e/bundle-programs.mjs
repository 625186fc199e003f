/**
 * Before the end-to-end tests: turns every program in `e2e/programs` into JavaScript, and tells the tests
 * where it is.
 */

import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { bundle } from '../bundle.mjs';
import { root } from '../project.mjs';

/** @param {{ provide(key: string, value: unknown): void }} project */
export async function setup(project) {
  const folder = join(root, 'e2e', 'programs');
  const programs = readdirSync(folder).filter((name) => name.endsWith('.ts'));
  const bundles = await Promise.all(
    programs.map(
      async (name) => /** @type {const} */ ([basename(name, '.ts'), await bundle(join(folder, name))]),
    ),
  );
  project.provide('programs', Object.fromEntries(bundles));
}
