/**
 * Tests with real processes, which share the machine: one file after the other, one test after the
 * other. The programs that they start are bundled once, before the first.
 */

import { fileURLToPath } from 'node:url';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['e2e/**/*.test.ts'],
    globalSetup: ['scripts/e2e/bundle-programs.mjs'],
    pool: 'threads',
    isolate: false,
    fileParallelism: false,
    testTimeout: 120_000,
  },
});

export default config;
