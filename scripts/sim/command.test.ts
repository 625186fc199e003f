import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { UsageError } from '../command.mjs';
import { simulate } from './command.mjs';

const protocols = {
  turnstile: 'scripts/sim/fixtures/turnstile-simulation.ts',
  faulty: 'scripts/sim/fixtures/faulty-simulation.ts',
  idle: 'scripts/sim/fixtures/idle-simulation.ts',
  missing: 'scripts/sim/fixtures/missing.ts',
};

const quiet = { write: () => true };

async function sim(
  commandLine: string,
  options: { signal?: AbortSignal; stuckMs?: number; seedsFile?: () => string } = {},
): Promise<{ code: number; lines: string[]; text: string; last: string }> {
  const lines: string[] = [];
  const { signal = new AbortController().signal, stuckMs = 60_000, ...rest } = options;
  const write = (line: string): void => void lines.push(...line.split('\n'));
  const argv = commandLine.split(' ').filter((word) => word !== '');
  const code = await simulate(argv, { protocols, write, signal, stuckMs, progress: quiet, ...rest });
  return { code, lines, text: lines.join('\n'), last: lines.at(-1) ?? '' };
}

/** Everything but how long it took. */
const timeless = (text: string): string => text.replace(/in [\d.]+ s$/m, '').replace(/"seconds": .*/, '');

describe('a simulation whose promises hold', () => {
  it('exits with 0 and the count on the last line', async () => {
    const { code, last } = await sim('turnstile --seeds 300');
    expect(last).toMatch(/^turnstile: 300 seeds passed, 0 failed in \d+\.\d s$/);
    expect(code).toBe(0);
  });

  it('sums what was counted', async () => {
    const { text } = await sim('turnstile --seeds 300');
    expect(text).toMatch(/^entries +\d{4}$/m);
  });

  it('plays drawn worlds alone when told to', async () => {
    expect((await sim('turnstile --seeds 10')).text).toMatch(/^scenarios +10$/m);
    expect((await sim('turnstile --seeds 10 --no-scenarios')).text).toMatch(/^scenarios +0$/m);
  });

  it('fails all the same when too little happened', async () => {
    const { code, text, last } = await sim('idle --seeds 2');
    expect(text).toContain('too little happened: nothing crashed');
    expect(last).toMatch(/^idle: 2 seeds passed, 0 failed, too little happened in/);
    expect(code).toBe(1);
  });
});

describe('a simulation that breaks a promise', () => {
  it('shows the seed, the promise, the end of the trace and how to see it again', async () => {
    const { code, lines, last } = await sim('faulty --seeds 6');
    expect(lines.slice(0, 3)).toEqual([
      'seed 5 broke never-five: 5 is a multiple',
      '    … 15 lines before',
      '    event 15 of seed 5',
    ]);
    expect(lines[26]).toBe('    event 39 of seed 5');
    expect(lines[27]).toBe('  replay: npm run sim -- faulty --seed 5 --trace');
    expect(last).toMatch(/^faulty: 5 seeds passed, 1 failed/);
    expect(code).toBe(1);
  });

  it('counts what a run throws as the promise `assertion`, and names the line of TypeScript', async () => {
    const { text, code } = await sim('faulty --from 7 --seeds 1');
    expect(text).toContain('seed 7 broke assertion: RangeError: seven is not allowed');
    expect(text).toMatch(/faulty-simulation\.ts:9:\d+/);
    expect(code).toBe(1);
  });

  it('stops at the tenth failing seed', async () => {
    const { text, last } = await sim('faulty --seeds 1000');
    expect(text).toContain('stopped after 45 of 1000 seeds');
    expect(last).toMatch(/^faulty: 35 seeds passed, 10 failed/);
  });

  it('goes on to the end when told to', async () => {
    const { last } = await sim('faulty --seeds 100 --keep-going');
    expect(last).toMatch(/^faulty: 79 seeds passed, 21 failed/);
  });

  it('says so when the same seed does not go the same way twice', async () => {
    const { text } = await sim('idle --from 4 --seeds 2 --jobs 1');
    expect(text).toContain('NOT REPEATABLE');
  });

  it.each([
    ['calculates for ever', 3],
    ['waits for something that never comes', 6],
  ])('ends a run that %s', async (_, seed) => {
    const { text, last } = await sim(`idle --from ${seed} --seeds 2 --jobs 1`, { stuckMs: 1_000 });
    expect(text).toContain(`seed ${seed} broke assertion: the run did not end within 1 s of its own time`);
    expect(text).not.toContain('NOT REPEATABLE');
    expect(last).toMatch(/^idle: 1 seeds passed, 1 failed/);
  });
});

describe('one seed', () => {
  it('is played with its whole trace', async () => {
    const { code, lines, last } = await sim('faulty --seed 10 --trace');
    expect(lines[0]).toBe('event 0 of seed 10');
    expect(lines[39]).toBe('event 39 of seed 10');
    expect(last).toBe('faulty: seed 10 broke never-five: 10 is a multiple');
    expect(code).toBe(1);
  });

  it('is played with a fault', async () => {
    const { last, code } = await sim('turnstile --mutant number-stands-still --seed 1');
    expect(last).toBe('turnstile with number-stands-still: seed 1 broke numbers-grow: 3 after 3');
    expect(code).toBe(1);
  });

  it('does not have to prove anything alone', async () => {
    expect((await sim('idle --seed 1')).code).toBe(0);
  });
});

describe('deliberate faults', () => {
  it('are shown with the seed that caught them', async () => {
    const { text } = await sim('turnstile --mutants');
    expect(text).toMatch(/^anybody-lets-out +one-inside +caught by seed \d+ \(\d+ tried/m);
    expect(text).toMatch(/^number-stands-still +numbers-grow +caught by seed \d+ \(\d+ tried/m);
  });

  it('fail the run when one is not caught', async () => {
    const { text, last, code } = await sim('turnstile --mutants');
    expect(text).toMatch(/^numbers-skip +numbers-grow +NOT CAUGHT \(30 tried\)/m);
    expect(last).toBe('mutants: 2 of 4 caught');
    expect(code).toBe(1);
  });

  it('fail the run when the source has moved away from under one', async () => {
    const { text } = await sim('turnstile --mutants');
    expect(text).toMatch(
      /^gone-from-the-source .*CANNOT BE TRIED: .*must occur exactly once in .*turnstile\.ts, but occurs 0 times/m,
    );
  });

  it('can be tried one at a time, over as many seeds as one likes', async () => {
    const caught = await sim('turnstile --mutant anybody-lets-out');
    expect([caught.last, caught.code]).toEqual(['mutants: 1 of 1 caught', 0]);
    const missed = await sim('turnstile --mutant numbers-skip --seeds 77');
    expect(missed.text).toContain('NOT CAUGHT (77 tried)');
  });

  it('prove nothing when there are none', async () => {
    expect((await sim('faulty --mutants')).code).toBe(1);
  });
});

describe('recorded seeds', () => {
  const folder = mkdtempSync(join(tmpdir(), 'mutant-seeds-'));
  const seedsFile = (): string => join(folder, 'seeds.json');
  const record = (seeds: object): void => writeFileSync(seedsFile(), JSON.stringify(seeds));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are written after a whole search, for the mutants that were caught', async () => {
    await sim('turnstile --mutants --record', { seedsFile });
    const names = Object.keys(JSON.parse(readFileSync(seedsFile(), 'utf8')));
    expect(names).toEqual(['anybody-lets-out', 'number-stands-still']);
  });

  it('are where the search for a mutant begins and all but ends', async () => {
    record({ 'anybody-lets-out': 500, 'numbers-skip': 700 });
    const { text } = await sim('turnstile --mutants --recorded', { seedsFile });
    expect(text).toMatch(/^anybody-lets-out .*caught by seed 50\d/m);
    expect(text).toMatch(
      /^numbers-skip .*NOT CAUGHT by the recorded seed 700 and the 9 after it: .*--mutants --record/m,
    );
  });

  it('are kept while they catch the mutant, and otherwise searched for from the start', async () => {
    record({ 'anybody-lets-out': 500, 'numbers-skip': 700 });
    const { text } = await sim('turnstile --mutants --record --recorded', { seedsFile });
    expect(text).toMatch(/^numbers-skip .*NOT CAUGHT \(30 tried\)/m);
    const seeds: unknown = JSON.parse(readFileSync(seedsFile(), 'utf8'));
    expect(seeds).toEqual({ 'anybody-lets-out': expect.any(Number), 'number-stands-still': 1 });
    expect(seeds).toMatchObject({ 'anybody-lets-out': expect.closeTo(504, -1) });
  });

  it('are not needed: a mutant without one is searched for from the start', async () => {
    record({});
    const { text } = await sim('turnstile --mutants --recorded', { seedsFile });
    expect(text).toMatch(/^number-stands-still .*caught by seed 1 /m);
    expect(text).toMatch(/^numbers-skip .*NOT CAUGHT \(30 tried\)/m);
  });
});

describe('the result', () => {
  it.each([
    'turnstile --seeds 500',
    'faulty --seeds 1000',
    'turnstile --mutants',
    'turnstile --mutants --json',
  ])('is the same with one thread and with two: %s', async (commandLine) => {
    const [one, two] = [await sim(`${commandLine} --jobs 1`), await sim(`${commandLine} --jobs 2`)];
    expect(timeless(two.text)).toBe(timeless(one.text));
    expect(two.code).toBe(one.code);
  });

  it('can be had as JSON', async () => {
    const { text } = await sim('faulty --seeds 6 --json');
    expect(JSON.parse(text)).toMatchObject({
      protocol: 'faulty',
      passed: 5,
      failed: 1,
      failures: [{ seed: 5, promise: 'never-five' }],
      totals: { events: 240 },
    });
  });

  it('is the count so far when interrupted', async () => {
    const interruption = new AbortController();
    const running = sim('turnstile --seeds 1000000000', { signal: interruption.signal });
    setTimeout(() => interruption.abort(), 400);
    const { code, text, last } = await running;
    expect(text).toMatch(/stopped after \d+ of 1000000000 seeds/);
    expect(last).toMatch(/^turnstile: \d+ seeds passed, 0 failed/);
    expect(code).toBe(130);
  });

  it('is a failure when the simulation is not there', async () => {
    const { code, text, last } = await sim('missing');
    expect(text).toContain('scripts/sim/fixtures/missing.ts does not exist');
    expect(last).toBe('missing: 0 seeds passed, 0 failed');
    expect(code).toBe(1);
  });
});

describe('a command line that makes no sense', () => {
  it.each([
    ['', 'name a protocol to simulate: turnstile, faulty, idle, missing'],
    ['turnstyle', 'there is no protocol turnstyle; did you mean turnstile?'],
    ['zzz', 'there is no protocol zzz; there are turnstile, faulty, idle, missing'],
    ['constructor', 'there is no protocol constructor'],
    ['turnstile --sedes 5', 'unknown option --sedes; did you mean --seeds?'],
    ['turnstile --seeds', '--seeds needs a value after it'],
    ['turnstile --seeds 1.5', '--seeds must be a whole number of at least 1, but is "1.5"'],
    ['turnstile --seeds 0', '--seeds must be a whole number of at least 1, but is "0"'],
    ['turnstile --seeds -3', '--seeds must be a whole number of at least 1, but is "-3"'],
    ['turnstile --json=yes', '--json takes no value, but got "yes"'],
    ['turnstile --trace', '--trace needs --seed S'],
    ['turnstile --seed 3 --seeds 5', '--seed S is one seed'],
    [
      'turnstile --mutant numbers-stand-still',
      'there is no mutant numbers-stand-still; did you mean number-stands-still?',
    ],
    ['turnstile --record', '--record needs a whole search'],
    ['turnstile --mutants --record --seeds 5', '--record needs a whole search'],
    ['turnstile --recorded', '--recorded goes with --mutants'],
    ['turnstile faulty', 'one protocol at a time, but got also faulty'],
  ])('%j is refused', async (commandLine, message) => {
    const refused = sim(commandLine);
    await expect(refused).rejects.toThrow(UsageError);
    await expect(refused).rejects.toThrow(message);
  });
});
