import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { describe, expect, it } from 'vitest';
import { completionScript, SHELLS } from './completion.ts';
import { buildProgram } from './program.ts';
import { recordedContext } from './testing/recorded-context.ts';

const script = (shell: (typeof SHELLS)[number]): string =>
  completionScript(buildProgram(recordedContext()), shell);
const isInstalled = (shell: string): boolean => spawnSync(shell, ['--version']).error === undefined;

/** What bash would offer behind these words. */
function offered(...words: string[]): readonly string[] {
  const commands = `
    ${script('bash')}
    COMP_WORDS=(leasehold ${words.map((word) => `'${word}'`).join(' ')})
    COMP_CWORD=${words.length}
    _leasehold
    printf '%s\\n' "\${COMPREPLY[@]}"
  `;
  return execFileSync('bash', ['-c', commands], { encoding: 'utf8' }).trim().split('\n');
}

describe('completion', () => {
  it.each(SHELLS)(
    'knows all commands and options of the program in %s, and none that are hidden',
    (shell) => {
      const text = script(shell);
      for (const word of [
        'manager',
        'explain',
        'add-owner',
        'cell-listen',
        'allowed-hosts',
        'certify-for',
        'zsh',
      ]) {
        expect(text).toContain(word);
      }
      expect(text).not.toMatch(/demo-owner|until-input-ends/);
    },
  );

  it.for(SHELLS)('is a script that %s can read', (shell, context) => {
    expect(process.env['CI'] === undefined || isInstalled(shell), `in CI there must be a ${shell}`).toBe(
      true,
    );
    if (!isInstalled(shell)) {
      console.warn(`NOT TESTED: whether ${shell} can read its completion. Install ${shell}.`);
      context.skip(`there is no ${shell} here`);
    }
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-completion-'));
    const file = join(folder, 'completion'); // Not by its input: fish does not read a script from a socket.
    writeFileSync(file, script(shell));
    const { status, stderr } = spawnSync(shell, ['-n', file], { encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it('offers commands, then their options, then the values of these', () => {
    expect(offered('ma')).toEqual(['manager']);
    expect(offered('manager', 'start', '--http')).toEqual(['--http']);
    expect(offered('manager', 'start', '--log', '')).toEqual(['human', 'json']);
    expect(offered('completion', '')).toEqual(expect.arrayContaining(['bash', 'zsh', 'fish']));
    expect(offered('demo', 'add')).toEqual(['add-owner']);
    expect(offered('demo', 'add-owner', '--na')).toEqual(['--name']);
    expect(offered('run', '--', 'bas')).toEqual(expect.arrayContaining(['bash']));
  });
});
