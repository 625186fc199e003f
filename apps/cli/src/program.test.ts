import type { Command } from 'commander';
import { VERSION } from 'leasehold/internal';
import { describe, expect, it } from 'vitest';
import { runCli } from './cli.ts';
import { buildProgram } from './program.ts';
import { recordedContext } from './testing/recorded-context.ts';
import { wordsOf } from './usage.ts';

async function run(...argv: string[]) {
  const context = recordedContext();
  const code = await runCli(argv, context);
  return { code, printed: context.printed(), complained: context.complained() };
}

/** All of them, those within others too. */
const commandsOf = (command: Command): readonly Command[] =>
  command.commands.flatMap((each) => [each, ...commandsOf(each)]);

describe('the command line', () => {
  it('has the commands that were promised', () => {
    const names = buildProgram(recordedContext()).commands.map((command) => command.name());
    expect(names).toEqual(
      expect.arrayContaining(['manager', 'run', 'status', 'pool', 'watch', 'flease', 'completion', 'demo']),
    );
  });

  it('says what to type in the help of every command', () => {
    for (const command of commandsOf(buildProgram(recordedContext()))) {
      let text = '';
      command.configureOutput({ writeOut: (piece) => (text += piece) }).outputHelp();
      expect(text).toContain(`Examples:\n  leasehold ${wordsOf(command)}`);
      expect(text).toMatch(/-h, --help +print this text/);
    }
  });

  it.each(['status', 'pool list', 'pool find', 'watch'])(
    'hints at --at if %s is told of --managers',
    async (name) => {
      const { code, complained } = await run(...name.split(' '), '--managers', '10.0.0.1:7400');
      expect(code).toBe(2);
      expect(complained).toContain(
        "unknown option '--managers'; this command has --at <addresses>: the HTTP API of the Manager",
      );
    },
  );

  it('prints help and version, and is content', async () => {
    expect(await run('--version')).toMatchObject({
      code: 0,
      printed: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    });
    expect(await run('watch', '--help')).toMatchObject({
      code: 0,
      printed: expect.stringContaining('Examples:'),
    });
    expect(await run('help', 'run')).toMatchObject({
      code: 0,
      printed: expect.stringContaining('-- <command>'),
    });
  });

  it.each(['--version', '-v', '-V', 'version'])(
    'says which version it is to whoever asks %s',
    async (asked) => {
      const { code, printed } = await run(asked);
      expect([code, printed]).toEqual([0, `${VERSION}\n`]);
    },
  );

  it('prints its help if nothing is asked, which is wrong usage', async () => {
    const { code, complained } = await run();
    expect(code).toBe(2);
    expect(complained).toContain('Commands:');
    expect(complained).not.toContain('outputHelp');
  });

  it('guesses what a misspelt command or option was meant to be', async () => {
    expect(await run('mangaer')).toMatchObject({
      code: 2,
      complained: "leasehold: unknown command 'mangaer'; did you mean manager?\nSee leasehold --help.\n",
    });
    expect((await run('help', 'mangaer')).complained).toBe((await run('mangaer')).complained);
    expect((await run('watch', '--jsn')).complained).toContain('did you mean --json?');
    expect((await run('run', '--manager', 'a:1', '--', 'ls')).complained).toContain(
      'did you mean --managers?',
    );
  });

  it('guesses within a command too, and points to the help of that one', async () => {
    expect((await run('demo', 'ad-owner')).complained).toBe(
      "leasehold: unknown command 'ad-owner'; did you mean add-owner?\nSee leasehold demo --help.\n",
    );
    expect((await run('demo', 'add-owner', '--nam', 'eve')).complained).toBe(
      "leasehold: unknown option '--nam'; did you mean --name?\nSee leasehold demo add-owner --help.\n",
    );
  });

  it('shows an example if an argument was left out', async () => {
    expect((await run('pool', 'find', 'presence')).complained).toBe(
      "leasehold: missing required argument 'keys'\nFor example: leasehold pool find presence alice\nSee leasehold pool find --help.\n",
    );
    expect((await run('run')).complained).toContain('For example: leasehold run -- node server.js');
  });

  it('says what it takes for what, if a command to run under a lease is missing or empty', async () => {
    const peers = ['--name', 'ada', '--peers', 'ada=127.0.0.1:1'];
    expect((await run('flease', 'hold', ...peers, '--', 'true')).complained).toMatch(
      /^leasehold: missing required argument 'command': "true" is taken for the resource, [^\n]*\nFor example: leasehold flease hold backup -- /,
    );
    expect(await run('flease', 'hold', 'backup', ...peers, '--', '')).toMatchObject({
      code: 2,
      complained: expect.stringMatching(
        /^leasehold: the command is empty: .*\nSee leasehold flease hold --help.\n$/,
      ),
    });
    expect(await run('flease', 'hold', '', ...peers, '--', 'true')).toMatchObject({
      code: 2,
      complained: expect.stringContaining('the resource is empty, but it must be a text'),
    });
    expect(
      (await run('flease', 'hold', 'backup', ...peers, '--clock-skew', '6s', '--', 'true')).complained,
    ).toContain('leasehold: --clock-skew is 6000 ms, but it must be less than half of --lease');
  });

  it('says where to put -- if an option of the command to run is taken for one of ours', async () => {
    expect((await run('flease', 'hold', 'backup', 'ls', '-d', '/tmp')).complained).toContain(
      "unknown option '-d'; if it is for the command that is to be run, put -- in front of that command\n",
    );
    expect((await run('status', '-d')).complained).toContain("unknown option '-d'\n");
  });

  it.each([
    [['flease', 'start'], ['--http', '7500'], '--http 7500', '--peers'],
    [['flease', 'start'], ['--listen', '0.0.0.0:7510', '--http', '7510'], '--http 7510', '--listen'],
    [['flease', 'hold', 'backup'], ['--http', '127.0.0.1:7500'], '--http 127.0.0.1:7500', '--peers'],
  ])('refuses a member two things in one place: %s %s', async (words, flags, said, where) => {
    const peers = ['--name', 'ada', '--peers', 'ada=127.0.0.1:7500', ...flags];
    expect(await run(...words, ...peers, ...(words.includes('hold') ? ['--', 'true'] : []))).toMatchObject({
      code: 2,
      complained: expect.stringContaining(
        `leasehold: ${said} is where ada listens for the others (${where}): give the two different ports\n`,
      ),
    });
  });

  it.each([
    ['--listen', '127.0.0.1:7500'],
    ['--http', '7500'],
  ])('refuses a Manager two things in one place: %s', async (flag, place) => {
    const group = ['--store', 'flease', '--name', 'a', '--peers', 'a=127.0.0.1:7500'];
    expect(await run('manager', 'start', ...group, flag, place)).toMatchObject({
      code: 2,
      complained: expect.stringContaining(
        `leasehold: ${flag} ${place} is where a listens for the others (--peers): give the two different ports\n`,
      ),
    });
  });

  it.each([
    ['--http', '0', '--no-http'],
    ['--no-http', '--http', '0'],
  ])('refuses what contradicts itself, whichever comes last: %s %s %s', async (...flags) => {
    const peers = ['--name', 'ada', '--peers', 'ada=127.0.0.1:1'];
    expect(await run('flease', 'start', ...peers, ...flags)).toMatchObject({
      code: 2,
      complained: expect.stringMatching(/^leasehold: --http and --no-http contradict each other: /),
    });
  });

  it('is told about as it is called, the demo by its own name', async () => {
    const context = recordedContext({ demoCalledAs: 'npm start --' });
    await runCli(['demo', '--help'], context);
    expect(context.printed()).toContain('Usage: npm start -- [options] [command]\n');
    expect(context.printed()).toMatch(/\n {2}npm start {2,}until Ctrl-C\n {2}npm start -- --owners 5/);
    await runCli(['demo', '--ownrs', '3'], context);
    expect(context.complained()).toContain('See npm start -- --help.');
    await runCli(['watch', '--help'], context);
    expect(context.printed()).toContain('Usage: leasehold watch [options]');
  });

  it('refuses values that make no sense, and says which would', async () => {
    const { code, complained } = await run('manager', 'start', '--listen', '127.0.0.1:70000');
    expect(code).toBe(2);
    expect(complained).toContain('host:port, with a port from 0 to 65535');
    expect((await run('demo', '--owners', 'many')).complained).toContain('whole number of at least 1');
    expect((await run('completion', 'cmd')).complained).toContain('bash, zsh, fish');
    expect((await run('manager', 'start', '--memory', '--data', 'x')).code).toBe(2);
    expect((await run('status', '--at', 'http://[')).complained).toContain('no address of an API');
  });

  it('takes options for what stands behind them, also if a command within has the same', async () => {
    expect((await run('manager', 'recover', '--data', '/nowhere/at/all', '--yes')).complained).toContain(
      'could not list "/nowhere/at/all"',
    );
    expect((await run('manager', 'step-down', '--data', 'x')).complained).toContain(
      "unknown option '--data'",
    );
    expect((await run('manager', 'recovr')).complained).toContain('did you mean recover?');
  });

  it('complains in JSON with --json', async () => {
    const { code, complained } = await run('status', '--json', '--bogus');
    expect(code).toBe(2);
    expect(JSON.parse(complained)).toEqual({
      error: {
        ...{ code: 'USAGE', message: "unknown option '--bogus'" },
        ...{ retryable: false, isOutcomeKnown: true },
      },
    });
  });

  it('leaves to the command what stands behind its name', async () => {
    const { code, complained } = await run('run', '--', 'no-such-program-anywhere', '--json');
    expect(code).toBe(127);
    expect(complained).toContain('was not found; check its spelling');
    expect(complained).toContain('(COMMAND_NOT_FOUND)');
  });
});
