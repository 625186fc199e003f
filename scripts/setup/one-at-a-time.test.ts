import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { oneAtATime } from './one-at-a-time.mjs';

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'one-at-a-time-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const quietly = () => {};

describe('one at a time', () => {
  it('lets the second begin when the first is done', async () => {
    const lock = join(folder, 'lock');
    const events: string[] = [];
    const work = (name: string) => async () => {
      events.push(`${name} begins`);
      await new Promise((resolve) => setTimeout(resolve, 50));
      events.push(`${name} ends`);
    };
    await Promise.all([oneAtATime(lock, work('first'), quietly), oneAtATime(lock, work('second'), quietly)]);
    expect(events).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
    expect(existsSync(lock)).toBe(false);
  });

  it('lets the next one in when the work fails', async () => {
    const lock = join(folder, 'lock');
    await expect(oneAtATime(lock, () => Promise.reject(new Error('no network')))).rejects.toThrow(
      'no network',
    );
    expect(await oneAtATime(lock, async () => 'done')).toBe('done');
  });

  it('does not wait for the dead', async () => {
    const lock = join(folder, 'lock');
    mkdirSync(lock);
    const longAgo = new Date(Date.now() - 60_000);
    utimesSync(lock, longAgo, longAgo);
    expect(await oneAtATime(lock, async () => 'done', quietly)).toBe('done');
  });
});
