/**
 * The picture of the page in the README: a Chromium looks at the demonstration, some seconds after one of its owners was killed. Everything in it
 * happened: `npm start` runs as a reader would run it.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import process from 'node:process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { CommandError } from '../command.mjs';
import { root } from '../project.mjs';

const BYTES_MAX = 150_000;
const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const SIZE = { width: 1120, height: 596 };

/** The browser, if there is one. */
export const browserPath = () =>
  [process.env['CHROMIUM'] ?? '', ...BROWSERS].find((path) => path !== '' && existsSync(path));

/**
 * @typedef {{ manager: { http: string },
 *   owners: { name: string, pid: number | null, sharePercent: number }[] }} State
 */

/**
 * @param {string} path of the picture
 * @param {string} executablePath of the browser
 */
export async function takePicture(path, executablePath) {
  const demo = spawn(
    process.execPath,
    [join(root, 'scripts', 'start.mjs'), '--json', ...['--port', '0', '--http', '0']],
    { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const ended = once(demo, 'exit');
  try {
    const states = statesOf(demo.stdout);
    const serving = await states((state) => state.owners.every(({ sharePercent }) => sharePercent > 20));
    await photograph(executablePath, path, serving.manager.http, async () => {
      const victim = serving.owners[1];
      if (typeof victim?.pid !== 'number') throw new CommandError('the demonstration names no owner to kill');
      process.kill(victim.pid, 'SIGKILL');
      await states(({ owners }) =>
        owners.some(({ name, pid }) => name === victim.name && pid !== victim.pid && pid !== null),
      );
      // The page draws what it hears, and the owner that was started anew gets its share.
      await sleep(5_000);
    });
  } finally {
    demo.kill('SIGINT');
    await ended;
  }
  const { size } = statSync(path);
  if (size > BYTES_MAX) throw new CommandError(`${path} has ${size} bytes, and ${BYTES_MAX} are the limit`);
}

/**
 * @param {import('node:stream').Readable} output
 * @returns {(isSo: (state: State) => boolean) => Promise<State>} waits for a state
 */
function statesOf(output) {
  const lines = createInterface({ input: output })[Symbol.asyncIterator]();
  return async (isSo) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new CommandError('the demonstration ended too early');
      // Other lines tell of events.
      /** @type {Partial<State>} */
      const state = JSON.parse(value);
      if (state.owners !== undefined && isSo(/** @type {State} */ (state)))
        return /** @type {State} */ (state);
    }
  };
}

/**
 * @param {string} executablePath
 * @param {string} path
 * @param {string} url
 * @param {() => Promise<void>} act while the page is open
 */
async function photograph(executablePath, path, url, act) {
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  try {
    const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' });
    await page.goto(url);
    await page.locator('#connection[data-state=live]').waitFor();
    await page.locator('#owners tr').nth(2).waitFor();
    await act();
    await page.screenshot({ path });
  } finally {
    await browser.close();
  }
}
