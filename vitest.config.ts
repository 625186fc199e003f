/**
 * Tests lie beside what they test. One thread serves many files (`isolate: false`): a test here
 * keeps no state outside itself, and starting a world per file would cost more than the tests.
 */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

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

/** Files that wait for real processes for half a minute and more: one that began last would run alone. */
const LONGEST = [
  'cli/src/demo/demo',
  'cli/src/commands/flease',
  'cli/src/flease/held-command',
  'cli/src/commands/real-processes',
  'quorum/shell/start-replica',
  'membership/shell/join-group',
  'supervision/real-processes',
  'log/file/real-disk',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.includes(`/${name}.test.`));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

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
    // The longest tests wait for real processes nine tenths of their time: four files side by side keep two cores busy.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // For what hangs. How fast the machine is today is nothing that a test should fail by.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
