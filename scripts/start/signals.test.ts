/**
 * npm runs a script in a shell, and hands a signal on to that shell and to nobody else. A shell that waits
 * for our process dies of it, and ours goes on without anybody to end it.
 */

import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../project.mjs';

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const LONG_MS = 60_000;

describe('a signal that npm was sent', () => {
  it.each(['start', 'leasehold', 'test', 'sim', 'fuzz', 'bench'])(
    'reaches what npm run %s runs, which takes the place of the shell',
    (name) => expect(scripts[name]).toMatch(/^exec node /),
  );

  it(
    'ends a Manager in good order',
    async () => {
      const script = `${scripts['leasehold']} manager start --memory --listen 127.0.0.1:0 --http 0 --json`;
      const shell = spawn('sh', ['-c', script], { cwd: root, stdio: ['ignore', 'pipe', 'ignore'] });
      const ended = new Promise((resolve) => shell.once('exit', (code, signal) => resolve(code ?? signal)));
      let said = '';
      const isUp = new Promise<void>((resolve) => {
        shell.stdout.on('data', (text: Buffer) => {
          said += text.toString();
          if (said.includes('\n')) resolve();
        });
      });
      await Promise.race([isUp, ended]);
      const { pid } = JSON.parse(said) as { readonly pid: number };
      expect(pid).toBe(shell.pid);
      shell.kill('SIGTERM');
      expect(await ended).toBe(0);
    },
    LONG_MS,
  );
});
