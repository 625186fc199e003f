import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { isNowhere, isProgram } from './program-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-program-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a command that is nowhere', () => {
  it('has no slash, and nothing of its name is where programs are looked for', () => {
    writeFileSync(join(folder, 'not-executable'), '');
    const env = { PATH: `/nowhere:${folder}` };
    expect(isNowhere('no-such-program', env)).toBe(true);
    expect(isNowhere('not-executable', env)).toBe(false);
    expect(isNowhere('./no-such-program', env)).toBe(false);
    expect(isNowhere('no-such-program', {})).toBe(false);
  });
});

describe('a program', () => {
  it('is one that is found, and may be executed', () => {
    const file = join(folder, 'tool');
    writeFileSync(file, '#!/bin/sh\n');
    expect(isProgram(file, {})).toBe(false);
    chmodSync(file, 0o755);
    expect(isProgram(file, {})).toBe(true);
    expect(isProgram('tool', { PATH: `/nowhere:${folder}` })).toBe(true);
    expect(isProgram('tool', { PATH: '/nowhere' })).toBe(false);
    expect(isProgram(folder, {})).toBe(false);
  });

  it('has an interpreter, if it says which', () => {
    const file = join(folder, 'script');
    for (const [firstLine, fits] of [
      ['#!/bin/sh', true],
      ['#! /bin/sh -e', true],
      ['#!/nowhere/sh', false],
      ['#! /nowhere/sh -e', false],
      ['echo', true],
    ] as const) {
      writeFileSync(file, `${firstLine}\n`, { mode: 0o755 });
      expect([firstLine, isProgram(file, {})]).toEqual([firstLine, fits]);
    }
  });
});
