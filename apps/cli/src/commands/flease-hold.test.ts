import { describe, expect, it } from 'vitest';
import { runCli } from '../cli.ts';
import { recordedContext } from '../testing/recorded-context.ts';

const MEMBER = ['--name', 'ada', '--peers', 'ada=127.0.0.1:1'];

async function hold(...words: readonly string[]) {
  const context = recordedContext();
  const code = await runCli(['flease', 'hold', 'backup', ...MEMBER, ...words], context);
  return { code, complained: context.complained() };
}

describe('a lease to run a command under', () => {
  it.each(['20ms', '499ms'])('is not shorter than processes take to begin: %s', async (lease) => {
    const { code, complained } = await hold('--lease', lease, '--', '/nowhere/program');
    expect(code).toBe(2);
    expect(complained).toMatch(
      /^leasehold: --lease is \d+ ms, but to run a command it must be 500 ms or more: /,
    );
  });

  it('may be half a second, and then it is for the command to be there', async () => {
    const { code } = await hold('--lease', '500ms', '--', '/nowhere/program');
    expect(code).toBe(127);
  });
});
