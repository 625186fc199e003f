/** The page of a group in a real browser. Where there is no Chromium this cannot run, and says so; where the environment says `CI`, that is a failure. */

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { lastingAddresses } from '../../../node/testing/lasting-port.ts';
import { silent } from '../../../runtime/logger.ts';
import { joinGroup } from '../join-group.ts';
import { serveStatus } from '../../../node/service/serve-status.ts';

const path = [process.env['CHROMIUM'] ?? '', '/usr/bin/chromium', '/usr/bin/chromium-browser'].find(
  (each) => each !== '' && existsSync(each),
);
const isMissing = path === undefined && !process.env['CI'];
if (isMissing)
  console.warn('NOT TESTED: the page of a group. Install chromium, or name one by CHROMIUM=/path/to/it.');

const LONG_MS = 60_000;
const SOON_MS = 20_000;

describe.skipIf(isMissing)('the page of a group in a browser', { timeout: LONG_MS }, () => {
  it('shows the servers, the links, and a route over a third server, and runs nothing', async () => {
    const { a, b, x } = await lastingAddresses('a', 'b', 'x');
    const common = { leaseMs: 3_000, logger: silent };
    // b and x are in no list of each other, and talk over a.
    await using _a = await joinGroup({ ...common, name: 'a', listen: a, peers: { b } });
    await using two = await joinGroup({ ...common, name: 'b', listen: b, peers: { a } });
    await using _x = await joinGroup({ ...common, name: 'x', listen: x, peers: { a } });
    await using server = await serveStatus(two, { listen: '127.0.0.1:0', logger: silent });
    const executable = path === undefined ? {} : { executablePath: path };
    const browser = await chromium.launch({ args: ['--no-sandbox', '--disable-gpu'], ...executable });
    try {
      const page = await browser.newPage({ viewport: { width: 1_000, height: 760 } });
      const faults: string[] = [];
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => void (message.type() === 'error' && faults.push(message.text())));
      await page.goto(server.url);
      const [members, routes, down] = ['circle.member', 'line.route', 'line.down'].map((each) =>
        page.locator(each),
      );
      // The page fetches itself again until the three are one view.
      await expect.poll(() => members?.count(), { timeout: SOON_MS }).toBe(3);
      await expect.poll(() => routes?.count(), { timeout: SOON_MS }).toBe(2);
      expect(await down?.count()).toBe(1);
      expect(await page.locator('svg').boundingBox()).toMatchObject({ width: expect.any(Number) });
      expect(await page.locator('circle.self + text').textContent()).toBe('b');
      expect(await page.locator('#view').textContent()).toContain('a, b, x');
      const screenshot = process.env['SCREENSHOT'];
      if (screenshot !== undefined) await page.screenshot({ path: screenshot });
      expect(faults).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});
