/** The commands as processes of their own, in groups of such processes on this machine. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HolderAnswer } from 'leasehold/internal';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { lastingPort } from '../../../../leasehold/src/node/testing/lasting-port.ts';
import { Stopwatch } from '../../../../leasehold/src/node/testing/undisturbed-time.ts';
import { run, type Started, start } from '../testing/started.ts';

const TIMEOUT_MS = 60_000;
/** Of which three are always there, and so a majority. */
const MEMBERS = ['a', 'b', 'c', 'd', 'e'];
const SERVING = ['a', 'b', 'e'];
/** Short, but not so short that a busy machine takes leases away. */
const TIMES = ['--lease', '1500ms', '--clock-skew', '100ms'];
const GRACE_MS = 500;

const folder = mkdtempSync(join(tmpdir(), 'leasehold-flease-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const freePorts = async (count: number): Promise<readonly number[]> => {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await lastingPort());
  return ports;
};

/** Goes on until there is such a file, and ends with 5. If told to end before, the command says so and goes on. */
const untilFile = (file: string): readonly string[] => [
  'sh',
  '-c',
  `trap 'echo told' TERM; echo "$LEASEHOLD_RESOURCE $LEASEHOLD_NUMBER"; while [ ! -e ${file} ]; do sleep 0.05; done; exit 5`,
];

const numberOf = (holder: Started): Promise<number> =>
  holder.until('a number', () => {
    const [, number] = /^\S+ (\d+)$/m.exec(holder.stdout) ?? [];
    return number === undefined ? undefined : Number(number);
  });

describe('members of a group on the command line', { timeout: TIMEOUT_MS }, () => {
  let environment: Readonly<Record<string, string>>;
  let serving: readonly Started[];
  let http: string;
  const holders: Started[] = [];

  beforeAll(async () => {
    const ports = await freePorts(MEMBERS.length);
    const peers = MEMBERS.map((member, at) => `${member}=127.0.0.1:${ports[at]}`).join(',');
    environment = { LEASEHOLD_FLEASE_PEERS: peers };
    serving = await Promise.all(
      SERVING.map((id) =>
        start(['flease', 'start', '--name', id, ...TIMES, '--http', '0', '--json'], { environment }),
      ),
    );
    const [first] = await Promise.all(
      serving.map((member) => member.json<{ http: string }>('saying where it listens', () => true)),
    );
    http = first?.http ?? '';
  }, TIMEOUT_MS);

  afterEach(async () => {
    await Promise.all(holders.splice(0).map((holder) => holder[Symbol.asyncDispose]()));
  });
  afterAll(async () => {
    await Promise.all(serving.map((member) => member[Symbol.asyncDispose]()));
  });

  async function hold(id: string, resource: string, ...argv: readonly string[]): Promise<Started> {
    const words = ['flease', 'hold', resource, '--name', id, ...TIMES, '--log', 'json', ...argv];
    const holder = await start(words, { environment, cwd: folder });
    holders.push(holder);
    return holder;
  }

  const ask = (...argv: readonly string[]) => run(['flease', ...argv, '--at', http]);

  it('one runs its command, the other waits, says for whom, and runs its own with a higher number', async () => {
    const one = await hold('c', 'two', '--', ...untilFile('two.done'));
    const first = await numberOf(one);
    expect(one.stderr).toContain('recovers for 1.7 s');
    const other = await hold('d', 'two', '--', ...untilFile('two.done'));
    await other.until(
      'a word of whom it waits for',
      () => other.stderr.includes('waiting for c') || undefined,
    );
    expect(other.stdout).toBe('');
    expect((await ask('status', 'two')).stdout).toMatch(new RegExp(`^c has "two", under number ${first}, `));
    expect(JSON.parse((await ask('status', 'two', '--json')).stdout)).toMatchObject({
      holder: { holder: 'c', number: first },
    });

    writeFileSync(join(folder, 'two.done'), '');
    expect(await one.ended).toBe(5);
    expect(await numberOf(other)).toBeGreaterThan(first);
    expect(await other.ended).toBe(5);
  });

  it('the holder of a resource is told to a watching command, at first and at each change', async () => {
    const watching = await start(['flease', 'watch', 'seen', '--at', http, '--json']);
    holders.push(watching);
    const told = (): readonly (string | null)[] =>
      watching.lines.map((line) => (JSON.parse(line) as HolderAnswer).holder?.holder ?? null);
    const isToldOf = (who: string | null): Promise<true> =>
      watching.until(`a word that ${who ?? 'nobody'} has it`, () => told().at(-1) === who || undefined);

    await isToldOf(null);
    const one = await hold('c', 'seen', '--', ...untilFile('seen.first'));
    await isToldOf('c');
    const other = await hold('d', 'seen', '--', ...untilFile('seen.second'));
    writeFileSync(join(folder, 'seen.first'), '');
    await isToldOf('d');
    writeFileSync(join(folder, 'seen.second'), '');
    await isToldOf(null);

    expect(told().filter((who) => who !== null)).toEqual(['c', 'd']);
    const numbers = watching.lines.map((line) => (JSON.parse(line) as HolderAnswer).holder?.number);
    expect(numbers.filter((number) => number !== undefined)).toEqual([
      await numberOf(one),
      await numberOf(other),
    ]);
  });

  it('one that asks once is refused while another has it, and says by whom', async () => {
    const one = await hold('c', 'once', '--', ...untilFile('once.done'));
    await numberOf(one);
    const other = await hold('d', 'once', '--timeout', '0s', '--json', '--', 'touch', 'once.ran');
    expect(await other.ended).toBe(75);
    expect(other.stderr).toMatch(
      /"error":\{"code":"LEASE_HELD","message":"[^\n]*was held by c when it was asked for/,
    );
    expect(other.stderr).not.toContain('waiting');
    expect(existsSync(join(folder, 'once.ran'))).toBe(false);
  });

  it('signals are for the command, and the lease is given back when it has ended', async () => {
    const one = await hold('c', 'signals', '--', ...untilFile('signals.done'));
    await numberOf(one);
    one.child.kill('SIGTERM');
    await one.until('the word that the command was told', () => one.stdout.includes('told') || undefined);
    writeFileSync(join(folder, 'signals.done'), '');
    expect(await one.ended).toBe(5);
    expect((await ask('status', 'signals')).stdout).toBe('Nobody has "signals".\n');
  });

  it('one that is interrupted while it waits ends as a shell would say', async () => {
    const one = await hold('c', 'waiting', '--', 'true');
    await one.until('its silence', () => one.stderr.includes('recovers') || undefined);
    one.child.kill('SIGINT');
    expect(await one.ended).toBe(130);
    expect(one.stderr).toContain('gave up waiting for the lease');
  });

  it('one that is to be quiet says nothing, although a member cannot be reached', async () => {
    const one = await hold('c', 'quiet', '--quiet', '--', 'echo', 'done');
    expect(await one.ended).toBe(0);
    expect([one.stdout, one.stderr]).toEqual(['done\n', '']);
  });

  it('one whose log nobody reads any more goes on, and ends as its command does', async () => {
    const one = await hold('c', 'unread', '--', ...untilFile('unread.done'));
    one.child.stderr?.destroy();
    await numberOf(one);
    writeFileSync(join(folder, 'unread.done'), '');
    expect(await one.ended).toBe(5);
  });

  it('one that only stays goes on as well when nobody reads what it prints', async () => {
    const staying = await start(['flease', 'start', '--name', 'c', ...TIMES, '--http', '0', '--json'], {
      environment,
    });
    holders.push(staying);
    const { http: url } = await staying.json<{ http: string }>('saying where it listens', () => true);
    staying.child.stdout?.destroy();
    staying.child.stderr?.destroy();
    await vi.waitUntil(async () => (await fetch(`${url}/readyz`)).ok, { timeout: TIMEOUT_MS, interval: 20 });
    expect(staying.child.exitCode).toBeNull();
  });

  it.each([
    ['a name', 'no-such-program-anywhere', 127, 'COMMAND_NOT_FOUND'],
    ['a path', './no-such-program', 127, 'COMMAND_NOT_FOUND'],
    ['a folder', './', 126, 'COMMAND_NOT_STARTED'],
  ])(
    'a command that cannot be started is said so at once, as a shell would: %s',
    async (_, command, exitCode, code) => {
      const one = await hold('c', 'missing', '--', command);
      expect(await one.ended).toBe(exitCode);
      expect(one.stderr).toContain(code);
      expect(one.stderr).not.toContain('recovers'); // The command does not wait for a turn first.
    },
  );

  it('one is told in JSON what went wrong, and logs as --log says', async () => {
    const one = await hold('c', 'formats', '--lease', '1600ms', '--json', '--log', 'human', '--', 'true');
    expect(await one.ended).toBe(2);
    expect(one.stderr).toMatch(/^[\d:.]+ recovers/m);
    expect(one.stderr).toMatch(/^\{"error":\{"code":"CONFIG_MISMATCH"/m);
    for (const command of ['hold', 'start']) {
      const { stdout } = await run(['flease', command, '--help']);
      expect(stdout.replace(/\s+/g, ' ')).toContain('log JSON lines unless --log says otherwise');
    }
  });

  it('one whose place is taken says that another process may be that member', async () => {
    const one = await hold('a', 'taken', '--json', '--', 'touch', 'taken.ran');
    expect(await one.ended).toBe(1);
    expect(one.stderr).toMatch(
      /"code":"PORT_IN_USE","message":"port \d+ on 127\.0\.0\.1 is in use; another process may be a already, /,
    );
    expect(existsSync(join(folder, 'taken.ran'))).toBe(false);
  });

  it('one whose port for HTTP is taken says which flag chooses another, before it has joined', async () => {
    const { port } = new URL(http);
    const { code, stderr } = await run(['flease', 'start', '--name', 'c', ...TIMES, '--http', port], {
      environment,
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /port \d+ on 127\.0\.0\.1 is in use; another member may serve its status there; choose another port with --http <port>, or serve no status with --no-http/,
    );
    expect(stderr).not.toContain('recovers');
    const one = await hold('c', 'http', '--http', port, '--', 'true');
    expect(await one.ended).toBe(1);
    expect(one.stderr).toContain('choose another port with --http <port>, or leave --http out');
    expect(one.stderr).not.toContain('recovers');
  });

  it('one that was started twice says that, although its port for HTTP is taken as well', async () => {
    const { port } = new URL(http);
    const { code, stderr } = await run(['flease', 'start', '--name', 'a', ...TIMES, '--http', port], {
      environment,
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining('another process may be a already')]);
  });

  it('one that has another lease than the others is wrong usage, and says what they have', async () => {
    const other = ['--lease', '1600ms', '--json', '--', 'touch', 'durations.ran'];
    const one = await hold('c', 'durations', ...other);
    expect(await one.ended).toBe(2);
    expect(one.stderr).toMatch(
      /"code":"CONFIG_MISMATCH","message":"[^\n]*has --lease 1600ms --clock-skew 100ms: a has --lease 1500ms --clock-skew 100ms, b has /,
    );
    expect(existsSync(join(folder, 'durations.ran'))).toBe(false);
  });

  it('tell how they are, to people and to programs', async () => {
    const { code, stdout } = await ask('status');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Member a of cell default is ready\n {2}peers +version 1\n {2}durations +lease 1.5 s, skew 100 ms\n/,
    );
    expect(stdout).toMatch(
      /\nPEER +ADDRESS +CONNECTED +HEARD +CLOCK AHEAD BY\nb .* yes .* ago .* to .* ms\n/,
    );
    expect(JSON.parse((await ask('status', '--json')).stdout)).toMatchObject({
      ...{
        name: 'a',
        instance: 'default',
        peersVersion: 1,
        recovery: null,
        held: 0,
        leaseMs: 1_500,
        clockSkewMs: 100,
      },
      peers: [{ name: 'b', connected: true, trouble: null }, { name: 'c' }, { name: 'd' }, { name: 'e' }],
    });
  });

  it('say what to do if nobody is there to ask', async () => {
    const [port] = await freePorts(1);
    const { code, stderr } = await run(['flease', 'status', '--at', String(port)]);
    expect(code).toBe(3);
    expect(stderr).toContain(`no member answers at http://127.0.0.1:${port}: nothing listens there`);
    expect(stderr).toContain('Start one with "leasehold flease start"');
  });

  it('a command whose holder is killed does not outlive it for long', async () => {
    const one = await hold('c', 'killed', '--', ...untilFile('killed.done'));
    await numberOf(one);
    one.child.kill('SIGKILL');
    expect(await one.ended).toBe('SIGKILL'); // Then no process has the output open any more.
    expect(one.stdout).toContain('told');
  });

  // The last test, since this one takes the group apart.
  it('a command whose lease is lost is asked to end, and then made to; and who watches is told that nobody knows', async () => {
    const watching = await start(['flease', 'watch', 'lost', '--at', http]);
    holders.push(watching);
    const one = await hold('c', 'lost', '--notice', `${GRACE_MS}ms`, '--', ...untilFile('lost.done'));
    await numberOf(one);
    await watching.until('who has it', () => watching.stdout.includes('c, under') || undefined);
    const sinceKill = new Stopwatch();
    for (const member of serving.slice(1)) member.child.kill('SIGKILL');
    expect(await one.ended).toBe(76);
    // A command that gets no processor within its grace is killed before it can say that it was told.
    if (sinceKill.disturbedMs < GRACE_MS) expect(one.stdout).toContain('told');
    expect(one.stderr).toContain('the lease is lost: the command is ended');
    expect(one.stderr).toContain('LEASE_LOST');
    // A machine that stalls the holder, too, is then named as the cause, and the members that were killed are not.
    expect(one.stderr).toMatch(
      /lease on "lost" \(number \d+\) was not renewed in time, (?:because this process stood still for about .*, )?and "sh" (?:ended while it|may have run)/,
    );
    if (!one.stderr.includes('because this process stood still'))
      expect(one.stderr).toMatch(/not heard from: .*b for .*, d \S+.*, e for /);
    await watching.until('that nobody knows', () => watching.stderr.includes('Not known: ') || undefined);
    expect(watching.stderr).toMatch(/Not known: no majority for "lost": 3 of 5 members have to agree/);
    expect(watching.child.exitCode).toBeNull();
  });
});
