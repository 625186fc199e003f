/**
 * How a program of these tests talks with whoever started it: JSON, a line each. It says what happens
 * (`event`) and answers what it is asked (`reply`); nothing is said by exit codes that could be said in
 * words.
 *
 * Lines that arrive together are obeyed in one turn of the event loop, one after the other, as requests
 * that queued up behind a long one would be. Writing to a pipe is synchronous here, so whatever a program did before
 * a `kill -9` and wanted to say, it has said.
 *
 * A program ends when its input does: nothing outlives a test that was broken off.
 */

import type { LeaseholdError, LogFacts, Logger } from 'leasehold/pool';

export type Facts = Readonly<Record<string, unknown>>;
export type Commands = Readonly<
  Record<string, (facts: never) => Facts | undefined | Promise<Facts | undefined>>
>;

export const nowMs = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;

export function say(event: string, facts: Facts = {}): void {
  process.stdout.write(`${JSON.stringify({ event, atMs: nowMs(), ...facts })}\n`);
}

/** What the program was started with. */
export function told<Config>(): Config {
  return JSON.parse(process.argv[2] ?? '{}') as Config;
}

const log =
  (level: string) =>
  (message: string, facts: LogFacts = {}): void =>
    say('log', { level, message, facts });

export const logger: Logger = {
  debug: log('debug'),
  info: log('info'),
  warn: log('warn'),
  error: log('error'),
};

export function errorFacts(error: unknown): Facts {
  const { name, message } = error instanceof Error ? error : { name: 'unknown', message: String(error) };
  const { code, retryable } = error as Partial<LeaseholdError>;
  return { name, code, retryable, message };
}

/** Says why it does not go on, and ends. */
export function fail(error: unknown): void {
  say('failed', errorFacts(error));
  process.exitCode = 1;
}

/** Obeys until the input ends, and then ends the program. */
export function obey(commands: Commands): void {
  let rest = '';
  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(JSON.parse(line) as Request, commands);
  });
  process.stdin.on('end', () => process.exit());
}

interface Request {
  readonly id: number;
  readonly command: string;
  readonly facts: never;
}

function take({ id, command, facts }: Request, commands: Commands): void {
  const reply = (answer: Facts | undefined): void =>
    void process.stdout.write(`${JSON.stringify({ reply: id, ...answer })}\n`);
  const failed = (error: unknown): void => reply({ error: errorFacts(error) });
  try {
    const answer = commands[command]?.(facts) ?? {};
    if (answer instanceof Promise) answer.then(reply, failed);
    else reply(answer);
  } catch (error) {
    failed(error);
  }
}

/** Keeps the event loop busy: no timer, no message, no signal gets through. */
export function stallFor(ms: number): void {
  const until = nowMs() + ms;
  while (nowMs() < until) Math.sqrt(until);
}
