/**
 * Tests lie beside what they test. Each is of one of three kinds (`scripts/test/kinds.mjs`), and each kind is a project
 * here: `npx vitest run --project fast`.
 *
 * Fast tests and worlds calculate: one thread serves many files (`isolate: false`), because starting a thread for each
 * file would cost more than the tests. So a test keeps no state outside itself. Real tests wait nine tenths of their time:
 * there are more of them side by side than processors, each in a process of its own, and all in one queue, longest first.
 * Ports, network namespaces and subnets are kept apart by the number of the worker (`leasehold/src/node/testing/worker.ts`).
 */

import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ensurePage } from './scripts/build/page.mjs';
import { kindOf, published, testFiles } from './scripts/test/kinds.mjs';
import { recordedSeconds } from './scripts/test/seconds.mjs';

const root = fileURLToPath(new URL('./', import.meta.url));

// Also for `npx vitest`, before which no set-up runs.
await ensurePage();

/** Side by side. More real ones would make two cores late for the clocks of the tests. */
const WORKERS = { fast: 2, worlds: 2, real: 6 };

const files = testFiles();
const ofKind = (kind: keyof typeof WORKERS): string[] => files.filter((path) => kindOf(path) === kind);

const alias = [...published].map(([name, path]) => ({
  find: new RegExp(`^${name}$`),
  replacement: root + path,
}));

const shared = {
  isolate: false,
  provide: { long: process.env['LEASEHOLD_TEST_LONG'] === 'yes' },
  // For what hangs. How fast the machine is today is nothing that a test should fail by.
  testTimeout: 1_800_000,
  hookTimeout: 1_800_000,
} as const;

class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const seconds = recordedSeconds();
    const lasts = ({ moduleId }: TestSpecification): number => seconds[moduleId.slice(root.length)] ?? 0;
    return (await super.sort(specifications)).sort((one, other) => lasts(other) - lasts(one));
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        resolve: { alias },
        test: {
          ...shared,
          name: 'fast',
          include: ofKind('fast'),
          pool: 'threads',
          maxWorkers: WORKERS.fast,
          sequence: { groupOrder: 0 },
        },
      },
      {
        resolve: { alias },
        test: {
          ...shared,
          name: 'worlds',
          include: ofKind('worlds'),
          pool: 'threads',
          maxWorkers: WORKERS.worlds,
          sequence: { groupOrder: 1 },
        },
      },
      {
        resolve: { alias },
        test: {
          ...shared,
          name: 'real',
          include: ofKind('real'),
          globalSetup: ['scripts/e2e/bundle-programs.mjs'],
          pool: 'forks',
          maxWorkers: WORKERS.real,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
