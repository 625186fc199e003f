import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandError } from 'leasehold/internal';
import { afterAll, describe, expect, it } from 'vitest';
import { type Environment, isProgram, whyNotStarted } from './program-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-program-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, text: string, mode: number): string => {
  const path = join(folder, name);
  writeFileSync(path, text, { mode });
  return path;
};

/** The errors from the look at the program and from the attempt to start the program. */
async function saidOf(command: string, env: Environment): Promise<readonly (CommandError | undefined)[]> {
  const starting = new Promise((resolve, reject) => {
    spawn(command, [], { env, stdio: 'ignore' }).once('error', reject).once('exit', resolve);
  });
  const tried = await starting.then(
    () => undefined,
    (cause: unknown) => CommandError.of(command, cause),
  );
  return [whyNotStarted(command, env), tried];
}

describe('a command that cannot be started', () => {
  const plain = file('plain', '', 0o644);

  it.each([
    ['a name that is nowhere', 'no-such-program', 'COMMAND_NOT_FOUND'],
    ['a path that is not there', join(folder, 'no-such-program'), 'COMMAND_NOT_FOUND'],
    ['a path into what is no folder', join(plain, 'tool'), 'COMMAND_NOT_FOUND'],
    ['a name of what may not be executed', 'plain', 'COMMAND_NOT_STARTED'],
    ['what may not be executed', plain, 'COMMAND_NOT_STARTED'],
    ['a folder', folder, 'COMMAND_NOT_STARTED'],
  ])('is known before the start, in the words of the system: %s', async (_, command, code) => {
    const [looked, tried] = await saidOf(command, { PATH: `/nowhere:${folder}` });
    expect(looked?.code).toBe(code);
    expect([looked?.message, looked?.exitCode]).toEqual([tried?.message, tried?.exitCode]);
  });

  it.each([
    [
      'not there',
      '#!/nowhere/sh -e\n',
      'COMMAND_NOT_FOUND',
      /asks .* for "\/nowhere\/sh", which was not found; /,
    ],
    [
      'not there, because of CR LF',
      '#!/bin/sh\r\n',
      'COMMAND_NOT_FOUND',
      /for "\/bin\/sh\\r", .*\(CR LF to LF\)$/,
    ],
    ['not executable', `#!${plain}\n`, 'COMMAND_NOT_STARTED', /plain", which may not be executed; /],
  ])('names its interpreter, if that is %s', async (_, text, code, words) => {
    file('script', text, 0o755);
    for (const command of [join(folder, 'script'), 'script']) {
      const [looked, tried] = await saidOf(command, { PATH: `/nowhere:${folder}` });
      expect([looked?.code, looked?.exitCode]).toEqual([tried?.code, tried?.exitCode]);
      expect(looked).toMatchObject({ code, message: expect.stringMatching(words) });
    }
  });

  it('is not a script of whose interpreter we see only how it begins: that may be run all the same', async () => {
    const script = file('long', `#!/${'x'.repeat(300)}\nexit 0\n`, 0o755);
    expect(await saidOf(script, {})).toEqual([undefined, undefined]);
    expect(isProgram(script, {})).toBe(false); // Nobody can know.
    const other = file('long-option', `#!/bin/sh ${' '.repeat(300)}\n`, 0o755);
    expect(isProgram(other, {})).toBe(true);
  });

  it('is not one that can be, nor one of which only the system knows where to look for it', () => {
    const tool = file('good', '#!/bin/sh\n', 0o755);
    for (const command of [tool, 'good']) expect(whyNotStarted(command, { PATH: folder })).toBeUndefined();
    expect(whyNotStarted('no-such-program', {})).toBeUndefined();
    symlinkSync('circle', join(folder, 'circle'));
    expect(whyNotStarted(join(folder, 'circle'), {})).toBeUndefined();
  });
});

describe('a program', () => {
  it('is one that is found, and may be executed', () => {
    const tool = file('tool', '#!/bin/sh\n', 0o644);
    expect(isProgram(tool, {})).toBe(false);
    chmodSync(tool, 0o755);
    expect(isProgram(tool, {})).toBe(true);
    expect(isProgram('tool', { PATH: `/nowhere:${folder}` })).toBe(true);
    expect(isProgram('tool', { PATH: '/nowhere' })).toBe(false);
    expect(isProgram(folder, {})).toBe(false);
  });

  it('has an interpreter, if it says which', () => {
    for (const [firstLine, fits] of [
      ['#!/bin/sh', true],
      ['#! /bin/sh -e', true],
      ['#!/nowhere/sh', false],
      ['#! /nowhere/sh -e', false],
      ['echo', true],
    ] as const) {
      const script = file('script', `${firstLine}\n`, 0o755);
      expect([firstLine, isProgram(script, {})]).toEqual([firstLine, fits]);
    }
  });
});
