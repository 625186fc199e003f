import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { pageBundleModule, pageBundlePath } from './build/page.mjs';

it('the script of the page is what apps/page makes; npm run page makes it anew', async () => {
  expect(readFileSync(pageBundlePath, 'utf8')).toBe(await pageBundleModule());
});
