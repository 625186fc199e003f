/**
 * The page in a real browser. Where there is no Chromium these tests cannot run, and say so; where the
 * environment says `CI`, that is a failure.
 */

import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type HttpServer, serveHttp } from '../../../node/http/server.ts';
import { silent } from '../../../runtime/logger.ts';
import { instant } from '../../../runtime/time.ts';
import {
  apiRoutes,
  keepingNothing,
  ManagerToLookAt,
  moving,
  standby,
  threeOwners,
  waiting,
} from './source-script.ts';

const path = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((each) => each !== '' && existsSync(each));
const isMissing = path === undefined && !process.env['CI'];
if (isMissing) {
  console.warn('NOT TESTED: the page in a browser. Install chromium, or name one by CHROMIUM=/path/to/it.');
}

const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
];
const PATIENCE_MS = 30_000;

/** Becomes so, in a browser's own time. */
const eventually = <T>(read: () => Promise<T>): ReturnType<typeof expect.poll<T>> =>
  expect.poll(read, { timeout: PATIENCE_MS });

describe.skipIf(isMissing)(
  'the page in a browser',
  () => {
    let browser: Browser;
    const open: AsyncDisposable[] = [];
    const faults: string[] = [];

    beforeAll(async () => {
      browser = await chromium.launch({
        args: FLAGS,
        ...(path === undefined ? {} : { executablePath: path }),
      });
    }, PATIENCE_MS);
    afterAll(() => browser?.close());
    afterEach(async () => {
      for (const each of open.splice(0)) await each[Symbol.asyncDispose]();
      expect(faults.splice(0)).toEqual([]);
    });

    const serve = async (manager: ManagerToLookAt, port = 0): Promise<HttpServer> => {
      const routes = apiRoutes(manager.source());
      const server = await serveHttp({ host: '127.0.0.1', port, routes, logger: silent });
      open.push({ [Symbol.asyncDispose]: () => server.close(0) });
      return server;
    };

    const visit = async (
      url: string,
      options: BrowserContextOptions = {},
      expected: 'owners' | 'no owners' = 'owners',
    ): Promise<Page> => {
      const context = await browser.newContext(options);
      open.unshift({ [Symbol.asyncDispose]: () => context.close() });
      const page = await context.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('console', (message) => {
        const isExpected =
          /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/;
        if (message.type() === 'error' && !isExpected.test(message.text())) faults.push(message.text());
      });
      await page.goto(url);
      await page.locator('#connection[data-state=live]').waitFor();
      if (expected === 'owners') await page.locator('#owners tr').first().waitFor();
      return page;
    };

    /** The page is grey, and says how old the data is. */
    const looksDead = async (page: Page): Promise<boolean> => {
      const [filter, text, title] = await page.evaluate<string[]>(
        "[getComputedStyle(document.querySelector('main')).filter, document.getElementById('connection').textContent, document.title]",
      );
      const saysSo = /^disconnected; data from \d\d:\d\d:\d\d$/.test(text ?? '');
      return saysSo && filter !== 'none' && title === 'Leasehold (disconnected)';
    };

    it('says beside an owner what it does with its keys, and tells of orders', async () => {
      const page = await visit((await serve(moving())).url);
      expect(await page.locator('#owners .state').allTextContents()).toEqual([
        'hands all over; 1 range on the way out',
        '1 range on the way in',
        '',
      ]);
      await eventually(() => page.locator('#events li').first().textContent()).toContain(
        'presence-1 is to hand all its keys over',
      );
    });

    it('shows owners, the ring and events', async () => {
      const page = await visit((await serve(threeOwners())).url);
      expect(await page.locator('#owners .name').allTextContents()).toEqual([
        'presence-1',
        'presence-2',
        'presence-3',
      ]);
      expect(await page.locator('#middle').textContent()).toContain('owners, 1');
      expect(await page.locator('#manager').textContent()).toContain('leading');
      await eventually(() => page.locator('#events li').count()).toBe(7);
      const colours = await page.evaluate<number>(`(() => {
      const canvas = document.getElementById('ring');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Map();
      for (let at = 0; at < data.length; at += 4) {
        const colour = data[at] + ',' + data[at + 1] + ',' + data[at + 2];
        if (data[at + 3] === 255) seen.set(colour, (seen.get(colour) || 0) + 1);
      }
      return [...seen.values()].filter((count) => count > 1000).length;
    })()`);
      expect(colours).toBe(3);
    });

    it('shows on a standby who leads, with the way to its page', async () => {
      const manager = standby();
      manager.leader = { ...manager.leader, leader: '<b>m2</b>' };
      manager.others = manager.others.map((other) => ({ ...other, id: `<b>${other.id}</b>` }));
      manager.join('presence', 'presence-2');
      const { url } = await serve(manager);
      const page = await visit(url, {}, 'no owners');
      await page.locator('#leader a').waitFor();
      expect(await page.locator('#leader').textContent()).toBe('<b>m2</b> leads, at 10.0.0.2:7400');
      expect(await page.locator('#leader a').getAttribute('href')).toBe('http://10.0.0.2:7401');
      expect(await page.locator('#manager').textContent()).toContain('standby');
      manager.others = [{ id: '<b>m2</b>', address: 'x', http: 'javascript:alert(1)', isSelf: false }];
      await eventually(() => page.locator('#leader a').count()).toBe(0);
      manager.role = 'leading';
      await eventually(() => page.locator('#leader').isVisible()).toBe(false);
    });

    it('shows on a standby that keeps nothing who leads, and asks it for nothing that it cannot know', async () => {
      const page = await visit((await serve(keepingNothing())).url, {}, 'no owners');
      await eventually(() => page.locator('#leader').textContent()).toBe('m2 leads');
      expect(await page.locator('#manager').textContent()).toMatch(/standby · term 7 · 0 look-ups/);
    });

    it('shows of a leader that waits that it is not known yet who owns what', async () => {
      const manager = waiting();
      const page = await visit((await serve(manager)).url);
      await eventually(() => page.locator('#notice').textContent()).toContain(
        'not known yet: this Manager waits 9.0 s',
      );
      await page.locator('#key').fill('alice');
      await page.locator('#ask button').click();
      await eventually(() => page.locator('#answer p').first().textContent()).toBe('not known yet');
      manager.waitsUntil = undefined;
      await eventually(() => page.locator('#notice').isVisible()).toBe(false);
    });

    it('shows a loss as it happens', async () => {
      const manager = threeOwners();
      const page = await visit((await serve(manager)).url);
      manager.commit('presence', [{ kind: 'leave', incarnation: 'presence-2.1', why: 'certified' }]);
      await page.locator('#events [data-kind=lost]').waitFor();
      expect(await page.locator('#events [data-kind=left]').textContent()).toContain('its death was proved');
      await eventually(() => page.locator('#owners tr').count()).toBe(2);
      await eventually(() => page.locator('#middle').textContent()).toContain('% unowned');
    });

    it.each([
      ['certified', 'died: its death was proved, by its supervisor or its lock'],
      ['expired', 'was silent until its hold was over'],
      ['left', 'left in good order'],
    ] as const)('keeps an owner that is gone for a while, with how that is known: %s', async (why, words) => {
      const manager = threeOwners();
      const { url } = await serve(manager);
      const page = await visit(url);
      manager.commit('presence', [{ kind: 'leave', incarnation: 'presence-2.1', why }]);
      await eventually(() => page.locator('#gone tr').count()).toBe(1);
      expect(await page.locator('#gone .name').textContent()).toBe('presence-2');
      expect(await page.locator('#gone .state').textContent()).toMatch(
        new RegExp(`^\\d\\d:\\d\\d:\\d\\d: ${words}$`),
      );
      const later = await visit(url);
      await eventually(() => later.locator('#gone .name').textContent()).toBe('presence-2');
      manager.wallMs += 6 * 60_000;
      await eventually(() => page.locator('#gone tr').count()).toBe(0);
    });

    it('does not call lost what owners give back at a first start', async () => {
      const manager = new ManagerToLookAt();
      const page = await visit((await serve(manager)).url, {}, 'no owners');
      for (const name of ['a', 'b', 'c']) {
        manager.join('presence', name);
        manager.settle('presence');
      }
      await eventually(() => page.locator('#owners tr').count()).toBe(3);
      await eventually(() => page.locator('#events [data-kind="given back"]').count()).toBe(3);
      expect(await page.locator('#events [data-kind=lost]').count()).toBe(0);
      const red = await page.evaluate<string>(
        'getComputedStyle(document.querySelector(\'#events [data-kind="given back"] b\')).color',
      );
      expect(red).not.toBe('rgb(196, 48, 43)');
    });

    it('shows the shares of all owners on one scale: a whole bar is the whole ring', async () => {
      const page = await visit((await serve(threeOwners())).url);
      const shown = await page.evaluate<
        { text: string; bar: number }[]
      >(`[...document.querySelectorAll('#owners tr')].map((row) => ({
        text: row.querySelector('.share').textContent,
        bar: Number.parseFloat(row.querySelector('.bar div').style.width),
      }))`);
      for (const { text, bar } of shown) expect(bar).toBeCloseTo(Number.parseFloat(text), 0);
      expect(shown.reduce((sum, { bar }) => sum + bar, 0)).toBeCloseTo(100, 0);
    });

    it('says whose a key is, and why', async () => {
      const page = await visit((await serve(threeOwners())).url);
      await page.locator('#key').fill('cart:{ana}:items');
      await page.locator('#ask button').click();
      await page.locator('#answer p').first().waitFor();
      const text = await page.locator('#answer').textContent();
      expect(text).toContain('owns it, number 4');
      expect(text).toContain('only the part in braces, "ana", is hashed');
    });

    it('says that it is disconnected, and comes back by itself to another incarnation of the Manager', async () => {
      const server = await serve(threeOwners());
      const page = await visit(server.url);
      await server.close(0);
      await page.locator('#connection[data-state=lost]').waitFor();
      expect(await looksDead(page)).toBe(true);
      const heard = async (): Promise<number> =>
        Number.parseFloat((await page.locator('#owners td.count').nth(1).textContent()) ?? '');
      const before = await heard();
      await eventually(heard).toBeGreaterThan(before + 0.9);
      const next = threeOwners();
      next.join('presence', 'presence-4');
      await serve(next, server.port);
      await page.locator('#connection[data-state=live]').waitFor();
      await eventually(() => page.locator('#owners tr').count()).toBe(4);
      expect(await looksDead(page)).toBe(false);
    });

    it('says so too of a Manager that stands still, with its connections open', async () => {
      const page = await visit((await serve(threeOwners())).url);
      await page.route('**/v1/**', () => {});
      await page.locator('#connection[data-state=lost]').waitFor();
      expect(await looksDead(page)).toBe(true);
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await page.locator('#connection[data-state=live]').waitFor();
      expect(await looksDead(page)).toBe(false);
    });

    it('shows names that look like code as text', async () => {
      const manager = threeOwners();
      const name = '<img src=x onerror="document.title=1">';
      manager.join('presence', name);
      manager.about.set(`${name}.1`, { lastHeardAt: instant(90_000) });
      const page = await visit((await serve(manager)).url);
      expect(await page.locator('#owners .name').allTextContents()).toContain(name);
      expect(await page.locator('img').count()).toBe(0);
      expect(await page.locator('#owners .state.bad').textContent()).toContain('silent');
    });

    it('fits a phone, in the dark too', async () => {
      const { url } = await serve(threeOwners());
      const page = await visit(url, { viewport: { width: 360, height: 740 }, colorScheme: 'dark' });
      const [width, ground] = await page.evaluate<[number, string]>(
        '[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]',
      );
      expect([width, ground]).toEqual([360, 'rgb(18, 21, 27)']);
    });
  },
  PATIENCE_MS,
);
