import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { start } from '../testing/started.ts';

/** A disk that hangs: the directory is never made, and the process waits for it. */
const HANGING_DISK = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  fs.promises.mkdir = () => new Promise(() => { setInterval(() => {}, 1_000); console.error('the disk hangs'); });
  syncBuiltinESMExports();
`;

it('leasehold quorum start ends with one signal, although its disk hangs', async () => {
  const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(HANGING_DISK)}` };
  const directory = join(tmpdir(), 'never-made');
  const words = ['--name', 'a', '--data', directory, '--peers', 'a=127.0.0.1:7600', '--no-http'];
  await using started = await start(['quorum', 'start', ...words], { environment });
  await started.until('a disk that hangs', () =>
    started.stderr.includes('the disk hangs') ? true : undefined,
  );
  expect(await started.stop('SIGTERM')).toBe(130);
  expect(started.stdout + started.stderr).toContain('the start hangs');
}, 20_000);
