/**
 * Real processes, signals, descriptors and locks. Each test starts programs of a few lines, written
 * below, and listens as a Manager that takes note of certificates and, unless told otherwise, confirms
 * them.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { Writable } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { nodeRuntime } from '../../../node/runtime.ts';
import { listenTcp, type TcpListener } from '../../../node/tcp/listen.ts';
import { digest } from '../../../runtime/digest.ts';
import { silent } from '../../../runtime/logger.ts';
import type { FromManager, ToGate } from '../../core/messages.ts';
import { managerCodec, POOL_PROTOCOL } from '../../wire/codec.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-supervision-'));
const program = (name: string): string => join(folder, `${name}.mjs`);

/** Every program first prints the process number, so that the tests can end every leftover. */
const LOGGER = `
  console.log('here', process.pid);
  const say = (level) => (message, facts) => console.log('log', level, facts?.why ?? message);
  const logger = { debug: () => {}, info: say('info'), warn: say('warn'), error: say('error') };
`;

const PROGRAMS = {
  /** <managers> <certifyForMs> <command…> */
  run: `
    import { nodeRuntime } from '../../../node/runtime.ts';
    import { superviseChild } from './supervise-child.ts';
    ${LOGGER}
    const [managers, forMs, command, ...args] = process.argv.slice(2);
    try {
      const end = await superviseChild({
        command, args, managers: managers.split(','), certifyForMs: Number(forMs), runtime: nodeRuntime(), logger,
      });
      console.log('death', end.death);
      process.exitCode = end.exitCode;
    } catch (error) {
      console.log('failed', error.code);
      process.exitCode = error.exitCode;
    }
  `,
  /** Asks for the proof, twice; then follows the commands. */
  server: `
    import { fork, spawn } from 'node:child_process';
    import { supervisedProof } from './supervised.ts';
    ${LOGGER}
    const [what = 'stay', code] = process.argv.slice(2);
    process.on('SIGUSR2', () => console.log('signal SIGUSR2'));
    process.on('SIGINT', () => console.log('signal SIGINT'));
    process.on('SIGTERM', () => { console.log('signal SIGTERM'); process.exit(7); });
    if (what !== 'primary') {
      const [one, two] = await Promise.all([supervisedProof(logger), supervisedProof(logger)]);
      console.log('proof', process.pid, one?.proof ?? 'none', two?.proof === one?.proof);
    }
    if (what === 'exit') process.exit(Number(code));
    if (what === 'parent') spawn(process.execPath, [process.argv[1], 'leaf'], { stdio: 'inherit' });
    if (what === 'parent' || what === 'primary') {
      const worker = fork(process.argv[1], ['worker']);
      worker.on('message', (message) => console.log('worker says', message));
      worker.on('exit', () => console.log('worker gone'));
    }
    if (what === 'worker') { process.send(process.env.LEASEHOLD_SUPERVISOR === undefined ? 'no variable' : 'variable'); process.disconnect(); }
    if (!['leaf', 'worker'].includes(what)) setInterval(() => {}, 1_000);
  `,
  /** <lock file> <managers>: takes the lock, tells of the predecessors, stays. */
  locked: `
    import { nodeRuntime } from '../../../node/runtime.ts';
    import { proveDeath } from './prove-death.ts';
    ${LOGGER}
    const [lockFile, managers, waitMs] = process.argv.slice(2);
    const runtime = nodeRuntime();
    try {
      const death = await proveDeath({
        lockFile, addresses: { current: managers.split(',') }, runtime, logger, waitMs: Number(waitMs ?? 10_000),
      });
      death.tellOfPredecessors();
      process.once('SIGTERM', async () => {
        death.left();
        await death[Symbol.asyncDispose]();
        console.log('released');
      });
      process.once('SIGUSR2', async () => { await death[Symbol.asyncDispose](); console.log('kept'); });
      console.log('proof', process.pid, death.proof);
      setInterval(() => {}, 1_000);
    } catch (error) {
      console.log('failed', error.code);
    }
  `,
  /** Waits for a line on descriptor 3 for 50 ms. */
  impatient: `
    import { answerInheritedLine } from '../../../node/process/inherited-line.ts';
    const line = await answerInheritedLine({ descriptor: 3, charactersMax: 99, withinMs: 50, reply: () => 'x' });
    console.log('line', line);
  `,
};

/** A process, and the output. */
class Started {
  readonly child: ChildProcess;
  readonly ended: Promise<number | string>;
  readonly lines: string[] = [];
  #isOver = false;
  #look: () => void = () => {};

  constructor(
    command: string,
    args: readonly string[],
    options: { env?: NodeJS.ProcessEnv; letter?: true } = {},
  ) {
    this.child = spawn(command, args, {
      stdio: ['ignore', 'pipe', 'pipe', options.letter ? 'pipe' : 'ignore'],
      env: { ...process.env, ...options.env },
    });
    this.ended = new Promise((resolve) => {
      this.child.once('close', (code, signal) => {
        this.#isOver = true;
        resolve(code ?? signal ?? '');
        this.#look();
      });
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream !== null) createInterface(stream).on('line', (line) => this.#said(line));
    }
  }

  get pid(): number {
    return this.child.pid as number;
  }

  /** The first line with this beginning, without the beginning. */
  async line(beginning: string): Promise<string> {
    for (;;) {
      const found = this.lines.find((line) => line.startsWith(beginning));
      if (found !== undefined) return found.slice(beginning.length).trim();
      if (this.#isOver) throw new Error(`it ended without "${beginning}":\n${this.lines.join('\n')}`);
      await new Promise<void>((resolve) => {
        this.#look = resolve;
      });
    }
  }

  #said(line: string): void {
    this.lines.push(line);
    this.#look();
  }

  /** The process that asked for a proof, and the proof. */
  async proof(): Promise<{ pid: number; proof: string }> {
    const [pid = '', proof = ''] = (await this.line('proof')).split(' ');
    return { pid: Number(pid), proof };
  }
}

/** A Manager that takes note of certificates. */
class Recorder {
  readonly proofs: string[] = [];
  readonly #listener: TcpListener<FromManager, ToGate>;
  readonly #waiting: (() => void)[] = [];

  constructor(listener: TcpListener<FromManager, ToGate>, confirms: boolean) {
    this.#listener = listener;
    listener.listen((from, message) => {
      if (message.kind !== 'certificate') return;
      const proof = digest(message.secret);
      this.proofs.push(proof);
      if (confirms) listener.send(from, { kind: 'certified', proof });
      for (const look of this.#waiting.splice(0)) look();
    });
  }

  get address(): string {
    return `${this.#listener.host}:${this.#listener.port}`;
  }

  async heardOf(proof: string): Promise<void> {
    while (!this.proofs.includes(proof)) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  async close(): Promise<void> {
    await this.#listener[Symbol.asyncDispose]();
  }
}

const started: Started[] = [];
const recorders: Recorder[] = [];

function start(...parameters: ConstructorParameters<typeof Started>): Started {
  const process = new Started(...parameters);
  started.push(process);
  return process;
}

async function manager(how: { confirms?: boolean; port?: number } = {}): Promise<Recorder> {
  const listener = await listenTcp({
    ...{ host: '127.0.0.1', port: how.port ?? 0, codec: managerCodec, protocol: POOL_PROTOCOL },
    ...{ runtime: nodeRuntime(), logger: silent },
  });
  const recorder = new Recorder(listener, how.confirms ?? true);
  recorders.push(recorder);
  return recorder;
}

const node = process.execPath;
const server = (...args: string[]): string[] => [node, program('server'), ...args];
const inShell = (text: string): string[] => ['sh', '-c', text.replaceAll('SERVER', server('stay').join(' '))];
const run = (to: Recorder | string, command: readonly string[], forMs = 60_000): Started =>
  start(node, [program('run'), typeof to === 'string' ? to : to.address, String(forMs), ...command]);
const lock = (path: string, to: Recorder, waitMs = 10_000): Started =>
  start(node, [program('locked'), path, to.address, String(waitMs)]);

beforeAll(async () => {
  const contents = Object.entries(PROGRAMS);
  await Promise.all(
    contents.map(([name, text]) =>
      build({
        stdin: { contents: text, resolveDir: import.meta.dirname, loader: 'ts' },
        outfile: program(name),
        ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
      }),
    ),
  );
});
afterEach(async () => {
  for (const each of started.splice(0)) {
    for (const line of each.lines) {
      const pid = Number(/^here (\d+)/.exec(line)?.[1] ?? 0);
      if (pid > 0 && pid !== each.pid) endIfItLives(pid);
    }
    each.child.kill('SIGKILL');
    await each.ended;
  }
  await Promise.all(recorders.splice(0).map((recorder) => recorder.close()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function endIfItLives(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process is gone already, as wanted.
  }
}

describe('a supervised server', { timeout: 60_000 }, () => {
  it('is certified when it was killed, and the supervisor ends as a shell would', async () => {
    const to = await manager();
    const supervisor = run(to, server());
    const { pid, proof } = await supervisor.proof();
    expect(to.proofs).toEqual([]);
    process.kill(pid, 'SIGKILL');
    expect(await supervisor.ended).toBe(137);
    expect(to.proofs).toEqual([proof]);
    expect(supervisor.lines).toContain('death certified');
  });

  it.each([0, 3])('is certified when it ended with %i, and the supervisor ends so too', async (code) => {
    const to = await manager();
    const supervisor = run(to, server('exit', String(code)));
    expect(await supervisor.ended).toBe(code);
    expect(to.proofs).toEqual([(await supervisor.proof()).proof]);
  });

  it('has one proof, however often it asks', async () => {
    const supervisor = run(await manager(), server('exit', '0'));
    expect(await supervisor.line('proof')).toMatch(/^\d+ [0-9a-f]{64} true$/);
  });

  it('is certified as soon as a Manager can be reached, if none could when it died', async () => {
    const gone = await manager();
    const { address } = gone;
    await gone.close();
    const supervisor = run(address, server('exit', '5'));
    await supervisor.line('log info ended');
    const to = await manager({ port: Number(address.split(':')[1]) });
    expect(await supervisor.ended).toBe(5);
    expect(to.proofs).toContain((await supervisor.proof()).proof);
  });

  it('has a supervisor that ends soon if it never reached a Manager, and says what it waits for', async () => {
    const gone = await manager();
    await gone.close();
    const supervisor = run(gone.address, server('exit', '4'));
    expect(await supervisor.line('log warn the command has ended')).toContain('Ctrl-C ends the wait');
    expect(await supervisor.ended).toBe(4);
    expect(supervisor.lines).toContain('death ran-out');
    expect(await supervisor.line('log warn no Manager was ever reached')).toContain('Check that');
  });

  it('has to let its lease run out if no Manager confirms, and the supervisor does not wait for ever', async () => {
    const to = await manager({ confirms: false });
    const supervisor = run(to, server('exit', '4'), 700);
    expect(await supervisor.ended).toBe(4);
    expect(supervisor.lines).toContain('death ran-out');
    expect(to.proofs.length).toBeGreaterThan(1);
  });

  it('leaves behind a supervisor that can be told to stop waiting', async () => {
    const to = await manager({ confirms: false });
    const supervisor = run(to, server('exit', '4'));
    await to.heardOf((await supervisor.proof()).proof);
    supervisor.child.kill('SIGTERM');
    supervisor.child.kill('SIGINT');
    expect(await supervisor.ended).toBe(4);
    expect(supervisor.lines).toContain('death ran-out');
  });

  it('gets the signals that its supervisor is sent', async () => {
    const supervisor = run(await manager(), server());
    await supervisor.proof();
    for (const signal of ['SIGUSR2', 'SIGINT', 'SIGTERM'] as const) {
      supervisor.child.kill(signal);
      await supervisor.line(`signal ${signal}`);
    }
    expect(await supervisor.ended).toBe(7);
    expect(supervisor.lines.filter((line) => line.startsWith('signal'))).toHaveLength(3);
  });

  it('is told to end when its supervisor is killed, and then nobody certifies its end', async () => {
    const to = await manager();
    const supervisor = run(to, server());
    await supervisor.proof();
    supervisor.child.kill('SIGKILL');
    await supervisor.line('signal SIGTERM');
    expect(await supervisor.ended).toBe('SIGKILL');
    expect(to.proofs).toEqual([]);
  });
});

describe('a command that did not start', { timeout: 60_000 }, () => {
  it.each([
    ['that is not there', () => 'no-such-program', 127, 'COMMAND_NOT_FOUND'],
    ['that is no program', () => program('server'), 126, 'COMMAND_NOT_STARTED'],
  ])('%s: the supervisor ends as a shell would', async (_, command, code, name) => {
    const supervisor = run(await manager(), [command()]);
    expect(await supervisor.ended).toBe(code);
    expect(supervisor.lines).toContain(`failed ${name}`);
  });
});

describe('the secret of a supervisor', { timeout: 60_000 }, () => {
  it('is taken by a child behind a shell that has become the child', async () => {
    const to = await manager();
    const supervisor = run(to, inShell('exec SERVER'));
    const { pid, proof } = await supervisor.proof();
    process.kill(pid, 'SIGKILL');
    expect(await supervisor.ended).toBe(137);
    expect(to.proofs).toEqual([proof]);
  });

  it('is not taken by a grandchild, whose death the supervisor cannot see', async () => {
    const to = await manager();
    const supervisor = run(to, inShell('SERVER; true'));
    const { pid, proof } = await supervisor.proof();
    expect(proof).toBe('none');
    expect(supervisor.lines).toContain('log warn not-the-child');
    process.kill(pid, 'SIGKILL');
    expect(await supervisor.ended).toBe(0);
    expect(to.proofs).toEqual([]);
    expect(supervisor.lines).toContain('death not-needed');
  });

  it('is not taken by a daemon that outlives the child', async () => {
    const to = await manager();
    const supervisor = run(to, inShell('SERVER & exit 3'));
    expect((await supervisor.proof()).proof).toBe('none');
    await supervisor.line('death not-needed');
    expect(to.proofs).toEqual([]);
  });

  it('is not taken by a process that the child starts, which does not even see the variable', async () => {
    const supervisor = run(await manager(), server('parent'));
    await supervisor.line('worker gone');
    await supervisor.line('proof');
    const proofs = () => supervisor.lines.filter((line) => line.startsWith('proof'));
    expect(await supervisor.line('worker says')).toBe('no variable');
    expect(proofs().filter((line) => !line.includes('none'))).toHaveLength(1);
    expect(supervisor.lines.filter((line) => line.startsWith('log warn not'))).toEqual([]);
  });

  it('is not taken by the worker of a child that never asked; the channel of the worker is left alone', async () => {
    const supervisor = run(await manager(), server('primary'));
    expect((await supervisor.proof()).proof).toBe('none');
    expect(await supervisor.line('worker says')).toBe('variable');
    expect(supervisor.lines).toContain('log warn not-the-child');
  });
});

describe('a process that finds the variable and', { timeout: 60_000 }, () => {
  const namespace = (): string => {
    try {
      return /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '-';
    } catch {
      return '-';
    }
  };
  const env = (descriptor = 3) => ({ LEASEHOLD_SUPERVISOR: `${process.pid}:${namespace()}:${descriptor}` });
  const secret = 'ab'.repeat(32);
  const child = (letter: (pid: number) => string, what = 'leaf'): Started => {
    const started = start(node, [program('server'), what], { env: env(), letter: true });
    (started.child.stdio[3] as Writable).end(letter(started.pid));
    return started;
  };

  it('gets a letter for itself takes the secret', async () => {
    expect((await child((pid) => `${pid} ${secret}\n`).proof()).proof).toBe(digest(secret));
  });

  it('is told to end when the line ends, if that was to stay', async () => {
    expect(await child((pid) => `${pid} ${secret}\nstays\n`, 'stay').ended).toBe(7);
  });

  it('is not told to end by the line of an earlier version, which ends with the letter', async () => {
    const started = child((pid) => `${pid} ${secret}\n`, 'stay');
    await started.proof();
    started.child.kill('SIGUSR2');
    await started.line('signal SIGUSR2');
    expect(started.lines).not.toContain('signal SIGTERM');
  });

  it('has done its work ends, although the line is open', async () => {
    const started = start(node, [program('server'), 'leaf'], { env: env(), letter: true });
    (started.child.stdio[3] as Writable).write(`${started.pid} ${secret}\nstays\n`);
    expect(await started.ended).toBe(0);
  });

  it.each<[string, (pid: number) => string, string]>([
    ['gets a letter for another', (pid) => `${pid + 1} ${secret}\n`, 'not-the-child'],
    ['gets none, because the supervisor has died', () => '', 'no-letter'],
    ['gets half of one', (pid) => `${pid} ${secret}`, 'no-letter'],
    ['gets something else', () => 'GET / HTTP/1.1\n', 'no-letter'],
    ['gets something without end', () => 'x'.repeat(10_000), 'no-letter'],
  ])('%s has no proof, and says why', async (_, letter, why) => {
    const started = child(letter);
    expect((await started.proof()).proof).toBe('none');
    expect(started.lines).toContain(`log warn ${why}`);
  });

  it('does not wait for ever for a letter', async () => {
    const started = start(node, [program('impatient')], { letter: true });
    expect(await started.line('line')).toBe('undefined');
    expect(await started.ended).toBe(0);
  });

  it('has something else at that descriptor leaves it alone', async () => {
    const started = start(node, [program('server'), 'leaf'], { env: env() });
    expect((await started.proof()).proof).toBe('none');
    expect(started.lines).toContain('log warn no-letter');
  });

  it('has an event loop at that descriptor, because a shell closed it, goes on running', async () => {
    const to = await manager();
    const supervisor = run(to, inShell('exec 3>&-; exec SERVER'));
    expect((await supervisor.proof()).proof).toBe('none');
    supervisor.child.kill('SIGTERM');
    expect(await supervisor.ended).toBe(7);
    expect(to.proofs).toEqual([]);
  });
});

describe('a lock instead of a supervisor', { timeout: 60_000 }, () => {
  let count = 0;
  const path = (): string => join(folder, `lock-${(count += 1)}`);
  const deathSecret = (file: string): string => readFileSync(file, 'utf8').slice(128);

  it('lets the next process prove that the last one was killed', async () => {
    const [to, file] = [await manager(), path()];
    const first = lock(file, to);
    const { proof } = await first.proof();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    first.child.kill('SIGKILL');
    const second = lock(file, to);
    await to.heardOf(proof);
    expect((await second.proof()).proof).not.toBe(proof);
    expect(new Set(to.proofs)).toEqual(new Set([proof]));
  });

  it('is waited for while the last one is still ending', async () => {
    const [to, file] = [await manager(), path()];
    const first = lock(file, to);
    const { proof } = await first.proof();
    const second = lock(file, to);
    await second.line('log info waiting for the lock');
    expect(to.proofs).toEqual([]);
    first.child.kill('SIGKILL');
    await second.proof();
    await to.heardOf(proof);
  });

  it('is not got from a process that lives, not even one that is stopped', async () => {
    const [to, file] = [await manager(), path()];
    const first = lock(file, to);
    await first.proof();
    first.child.kill('SIGSTOP');
    const second = lock(file, to, 300);
    expect(await second.line('failed')).toBe('LOCKED');
    expect(to.proofs).toEqual([]);
  });

  it('proves nothing after a process that left in good order, for it may live on', async () => {
    const [to, file] = [await manager(), path()];
    const first = lock(file, to);
    await first.proof();
    first.child.kill('SIGTERM');
    await first.line('released');
    const second = lock(file, to);
    await second.proof();
    second.child.kill('SIGTERM');
    await second.line('released');
    expect(deathSecret(file)).toBe('');
    expect(to.proofs).toEqual([]);
  });

  it('is kept by one that could not leave in good order, until it ends', async () => {
    const [to, file] = [await manager(), path()];
    const first = lock(file, to);
    const { proof } = await first.proof();
    first.child.kill('SIGUSR2');
    await first.line('kept');
    expect(await lock(file, to, 300).line('failed')).toBe('LOCKED');
    first.child.kill('SIGKILL');
    lock(file, to);
    await to.heardOf(proof);
  });

  it('proves the deaths that a short-lived process in between could not report, too', async () => {
    const [to, mute, file] = [await manager(), await manager({ confirms: false }), path()];
    const proofs: string[] = [];
    for (let life = 0; life < 3; life += 1) {
      const process = lock(file, mute);
      proofs.push((await process.proof()).proof);
      process.child.kill('SIGKILL');
      await process.ended;
    }
    lock(file, to);
    for (const proof of proofs) await to.heardOf(proof);
  });

  it('in a copied directory proves nothing: the one that wrote it lives', async () => {
    const [to, file, copy] = [await manager(), path(), path()];
    const first = lock(file, to);
    await first.proof();
    copyFileSync(file, copy);
    const second = lock(copy, to);
    await second.proof();
    expect(second.lines).toContain('log info other-file');
    expect(to.proofs).toEqual([]);
  });

  it('that was last held before the machine was restarted, or on another, proves nothing', async () => {
    const [to, file] = [await manager(), path()];
    const first = lock(file, to);
    await first.proof();
    first.child.kill('SIGKILL');
    await first.ended;
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/"boot":"[^"]*"/, '"boot":"another"'));
    const second = lock(file, to);
    await second.proof();
    expect(second.lines).toContain('log info other-boot');
    expect(to.proofs).toEqual([]);
  });

  it('carries the proof of the supervisor, if there is one too', async () => {
    const [to, file] = [await manager(), path()];
    const supervisor = run(to, [node, program('locked'), file, to.address]);
    const { pid, proof } = await supervisor.proof();
    process.kill(pid, 'SIGSTOP'); // Otherwise the process is told to end, and may release the lock before dying.
    supervisor.child.kill('SIGKILL');
    process.kill(pid, 'SIGKILL');
    await supervisor.ended;
    expect(to.proofs).toEqual([]);
    lock(file, to);
    await to.heardOf(proof);
  });
});
