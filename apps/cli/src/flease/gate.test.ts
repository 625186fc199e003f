import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundled, Started } from '../testing/started.ts';
import { fitsGate, isNowhere } from './gate.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-gate-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const LASTING = ['sh', '-c', 'echo runs; while :; do sleep 0.05; done'];

describe('a command behind a gate, when whoever started it is killed', () => {
  let program: string;
  beforeAll(async () => {
    program = await bundled('apps/cli/src/testing/killed-while-starting.ts');
  });

  const killedAt = async (instant: string): Promise<string> => {
    await using killed = new Started(program, [instant, ...LASTING], {});
    expect(await killed.ended).toBe('SIGKILL'); // When nobody has its output open any more.
    return killed.stdout;
  };

  it.each(['started', 'watchman told', 'watchman knows'])('has not run: %s', async (instant) => {
    expect(await killedAt(instant)).toBe('');
  });

  it('does not outlive it for long once the gate is open', async () => {
    await killedAt('gate open');
  });
});

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

describe('a command that fits a gate', () => {
  const path = process.env['PATH'];

  it('is one that is found, and may be executed', () => {
    const file = join(folder, 'tool');
    writeFileSync(file, '#!/bin/sh\n');
    expect(fitsGate(file, {})).toBe(false);
    chmodSync(file, 0o755);
    expect(fitsGate(file, {})).toBe(true);
    expect(fitsGate('tool', { PATH: `/nowhere:${folder}` })).toBe(true);
    expect(fitsGate('tool', { PATH: '/nowhere' })).toBe(false);
    expect(fitsGate(folder, {})).toBe(false);
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
      expect([firstLine, fitsGate(file, {})]).toEqual([firstLine, fits]);
    }
  });

  it('has an environment that a shell passes on', () => {
    const isPassedOn = (name: string): boolean => {
      const env = { PATH: path, [name]: 'x' };
      const { stdout } = spawnSync('/bin/sh', ['-c', 'exec "$@"', 'sh', 'env'], { env, encoding: 'utf8' });
      return stdout.includes(`${name}=x`);
    };
    for (const name of ['A_1', '_a']) {
      expect([fitsGate('env', { PATH: path, [name]: 'x' }), isPassedOn(name)]).toEqual([true, true]);
    }
    for (const name of ['a.b', 'a-b', '1a', 'BASH_FUNC_f%%']) {
      expect(fitsGate('env', { PATH: path, [name]: 'x' })).toBe(false);
    }
  });
});
