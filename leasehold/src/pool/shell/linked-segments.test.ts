import { mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { silent } from '../../runtime/logger.ts';
import { startManager } from './manager/start-manager.ts';

const top = mkdtempSync(join(tmpdir(), 'leasehold-linked-'));
afterAll(() => rmSync(top, { recursive: true }));

const settings = { listen: '127.0.0.1:0', firstStart: true, logger: silent } as const;

describe('a Manager on a directory whose segments were replaced by links', () => {
  it('is refused, and does not take the directory for an empty one', async () => {
    const directory = join(top, 'data');
    const first = await startManager({ ...settings, store: { directory } });
    await first.close();
    const segments = readdirSync(directory).filter((name) => name !== 'lock');
    expect(segments).not.toEqual([]);
    for (const name of segments) {
      renameSync(join(directory, name), join(top, name));
      symlinkSync(join(top, name), join(directory, name));
    }
    await expect(startManager({ ...settings, store: { directory } })).rejects.toMatchObject({
      code: expect.stringMatching(/^(ELOOP|STORAGE_FAILED)$/),
      message: expect.stringContaining('symbolic link'),
    });
    expect(readdirSync(directory).filter((name) => name !== 'lock')).toEqual(segments);
  });
});
