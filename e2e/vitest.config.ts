/**
 * Tests with real processes. They wait most of the time, so {@link WORKERS} files run side by side, each in a process of
 * its own; the tests of a file run one after the other. Ports, network namespaces and subnets are kept apart by the
 * number of the worker (`harness/worker.ts`). The programs that the tests start are bundled once, before the first.
 */

import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** More would make two cores late for the clocks of the tests. */
const WORKERS = 3;

/** The longest first: a long file that begins last would run alone. */
const LONGEST = [
  'manager-restarts',
  'managers-on-etcd',
  'elected-managers',
  'owner-stops',
  'supervised-signals',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.findIndex((name) => moduleId.includes(`/${name}`));
      return at < 0 ? LONGEST.length : at;
    };
    return (await super.sort(files)).sort((one, other) => place(one) - place(other));
  }
}

const config: ViteUserConfig = defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['e2e/**/*.test.ts'],
    globalSetup: ['scripts/e2e/bundle-programs.mjs'],
    pool: 'forks',
    isolate: false,
    maxWorkers: WORKERS,
    sequence: { sequencer: LongestFirst },
    testTimeout: 120_000,
  },
});

export default config;
