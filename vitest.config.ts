/**
 * Tests lie beside what they test. One thread serves many files (`isolate: false`): a test here
 * keeps no state outside itself, and starting a world per file would cost more than the tests.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const home = fileURLToPath(new URL('./leasehold/', import.meta.url));

/** `leasehold/pool`, as the applications write it, is our own source and not what was built of it last. */
const { exports } = JSON.parse(readFileSync(`${home}package.json`, 'utf8')) as {
  exports: Readonly<Record<string, string | { readonly default: string }>>;
};
const alias = Object.entries(exports).flatMap(([name, target]) =>
  typeof target === 'string'
    ? []
    : [
        {
          find: new RegExp(`^leasehold${name.slice(1)}$`),
          replacement: home + target.default.replace('./dist/', 'src/').replace(/\.js$/, '.ts'),
        },
      ],
);

/** The door of the command line, which is not published. */
alias.push({ find: /^leasehold\/internal$/, replacement: `${home}src/internal.ts` });

export default defineConfig({
  resolve: { alias },
  test: {
    include: [
      'leasehold/src/**/*.test.ts',
      'apps/*/src/**/*.test.ts',
      'bench/**/*.test.ts',
      'examples/**/*.test.ts',
      'scripts/**/*.test.ts',
    ],
    pool: 'threads',
    isolate: false,
    // The longest tests wait for real processes most of the time: three files side by side keep two cores busy.
    maxWorkers: 3,
    // For what hangs. How fast the machine is today is nothing that a test should fail by.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
