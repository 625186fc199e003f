/**
 * Tests lie beside what they test. One thread serves many files (`isolate: false`): a test here
 * keeps no state outside itself, and starting a world per file would cost more than the tests.
 */

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['leasehold/src/**/*.test.ts', 'scripts/**/*.test.ts'],
    pool: 'threads',
    isolate: false,
  },
});
