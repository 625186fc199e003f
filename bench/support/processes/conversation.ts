/**
 * How a program of a measurement talks with the process that measures: JSON, a line each, over its
 * standard input and output, which a supervisor between the two leaves alone. It says what happens
 * (`event`) and answers what it is asked (`reply`).
 *
 * A program ends when its input does, so that nothing outlives a measurement that was broken off.
 */

import process from 'node:process';

export type Facts = Readonly<Record<string, unknown>>;
export type Commands = Readonly<Record<string, (facts: never) => Facts | Promise<Facts>>>;

/** The monotonic clock of the machine: the same in all its processes. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The processor time that this process has used. */
export function cpu(): { ms: number } {
  const { user, system } = process.cpuUsage();
  return { ms: (user + system) / 1_000 };
}

export function say(event: string, facts: Facts = {}): void {
  process.stdout.write(`${JSON.stringify({ event, atMs: nowMs(), ...facts })}\n`);
}

/** What the program was started with. */
export function told<Config>(): Config {
  return JSON.parse(process.argv[2] ?? '{}') as Config;
}

/** Obeys until the input ends, and then ends the program. */
export function obey(commands: Commands = {}): void {
  process.stdin.setEncoding('utf8').on(
    'data',
    lines((line) => {
      const { id, command, facts } = JSON.parse(line) as { id: number; command: string; facts: never };
      const reply = (answer: Facts): void =>
        void process.stdout.write(`${JSON.stringify({ reply: id, ...answer })}\n`);
      const act = commands[command];
      if (act === undefined) return reply({ error: `there is no command ${command}` });
      Promise.resolve(act(facts)).then(reply, (error: unknown) => reply({ error: String(error) }));
    }),
  );
  process.stdin.on('end', () => process.exit());
}

/** Puts together what arrives in pieces. */
export function lines(hear: (line: string) => void): (text: string) => void {
  let rest = '';
  return (text) => {
    const whole = (rest + text).split('\n');
    rest = whole.pop() ?? '';
    for (const line of whole) hear(line);
  };
}
