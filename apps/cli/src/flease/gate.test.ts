import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundled, Started } from '../testing/started.ts';
import { behindGateIfItFits, fitsGate } from './gate.ts';

const LASTING = ['sh', '-c', 'echo runs; while :; do sleep 0.05; done'];

describe('a command behind a gate, when its starter is killed', () => {
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

describe('a command that is too long for the system', () => {
  it('is not behind a gate, and its starter is told why', () => {
    const tooLong = 'x'.repeat(1_000_000);
    const options = { env: { PATH: process.env['PATH'] }, detached: false };
    expect(behindGateIfItFits('true', [tooLong], options)).toBeUndefined();
  });
});

describe('a command that fits a gate', () => {
  const path = process.env['PATH'];

  it('is one that can be started', () => {
    expect(fitsGate('env', { PATH: path })).toBe(true);
    expect(fitsGate('no-such-program', { PATH: path })).toBe(false);
    expect(fitsGate('-c', { PATH: path })).toBe(false);
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
