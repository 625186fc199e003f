import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { root } from '../project.mjs';

function start(...words: readonly string[]) {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/start.mjs', ...words], {
    ...{ cwd: root, encoding: 'utf8' },
  });
  return { status, stderr };
}

describe('npm start', () => {
  it.each([
    [['limts'], 'unknown command limts; did you mean limits?\nSee npm start -- --help.\n'],
    [['limits', '--bogus'], 'unknown option --bogus; there are --help\nSee npm start -- limits --help.\n'],
    [
      ['--story', '--for', '3'],
      'unknown option --for; there are --help, --story, --seed\nSee npm start -- --story --help.\n',
    ],
  ])('%s is refused, with the help of the part that was tried', (words, stderr) => {
    expect(start(...words)).toEqual({ status: 2, stderr });
  });
});
