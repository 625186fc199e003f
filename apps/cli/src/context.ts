/**
 * The parts of the process that a command may touch: two outputs, a person to ask, the environment, and the exit code.
 * Tests hand in their own.
 */

import process from 'node:process';
import { createInterface } from 'node:readline/promises';
import { createColors } from 'picocolors';
import { SignalEchoes, inTerminalForeground, type Signal } from 'leasehold/internal';

export interface Output {
  write(text: string): void;
  readonly isTerminal: boolean;
  /** Characters in a line. */
  readonly columns: number;
  /** Lines that can be seen at once; without a bound if nobody looks. */
  readonly rows: number;
  /**
   * From here on a missing reader does not matter: output that cannot be written is dropped, and that ends nothing.
   */
  goOnUnread(): void;
}

export interface Context {
  /** The requested output. */
  readonly out: Output;
  /** Everything else: logs, progress, errors. */
  readonly err: Output;
  /** Asks a person, and resolves with the typed answer; undefined without a person. */
  readonly ask: ((question: string) => Promise<string>) | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The words that start this program: `leasehold`, `npx leasehold`, or `npm run leasehold --` in a checkout. */
  readonly calledAs: string;
  /** The words that start the demo, if there is something shorter: `npm start --` in a checkout. */
  readonly demoCalledAs: string | undefined;
  /** The exit code if nothing is thrown. */
  exitCode: number;
}

/**
 * The command line for these words of ours: `leasehold demo add-owner` for `demo add-owner`, or `npm start --
 * add-owner` where the demo is called so.
 */
export function typed(
  { calledAs, demoCalledAs }: Pick<Context, 'calledAs' | 'demoCalledAs'>,
  words: string,
): string {
  const ofDemo = demoCalledAs === undefined ? null : /^demo(?: (.*))?$/s.exec(words);
  const whole = ofDemo === null ? `${calledAs} ${words}` : `${demoCalledAs} ${ofDemo[1] ?? ''}`;
  return whole.trimEnd().replace(/ --$/, ''); // Nothing is handed on, so nothing has to be set apart.
}

export type Colors = ReturnType<typeof createColors>;

/** Colours for people at a terminal, unless they asked for none. */
export const colorsFor = (output: Output, { environment }: Pick<Context, 'environment'>): Colors =>
  createColors(output.isTerminal && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb');

/**
 * The words that start this program. A user who types `npx leasehold` has no `leasehold` on the path, so hints say `npx` as well.
 *
 * @param program the file that Node was started with
 */
export function calledAs(environment: Context['environment'], program: string): string {
  const isByNpx = environment['npm_command'] === 'exec' && /[\\/]\.bin[\\/]/.test(program);
  return environment['LEASEHOLD_CALLED_AS'] || (isByNpx ? 'npx leasehold' : 'leasehold');
}

export function processContext(): Context {
  const err = outputOf(process.stderr);
  err.goOnUnread(); // No command is called only to see the log.
  return {
    out: outputOf(process.stdout),
    err,
    ask: process.stdin.isTTY && process.stderr.isTTY ? askTerminal : undefined,
    environment: process.env,
    calledAs: calledAs(process.env, process.argv[1] ?? ''),
    demoCalledAs: process.env['LEASEHOLD_DEMO_CALLED_AS'] || undefined,
    exitCode: 0,
  };
}

/** On the error output, so that results can be piped away. The end of the input is an answer too: none. */
async function askTerminal(question: string): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const isOver = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    return await Promise.race([terminal.question(question), isOver]);
  } finally {
    terminal.close();
  }
}

/**
 * A reader may stop at any time (`leasehold watch | head`, or a terminal that is closed). A command that was started
 * for the output then has nothing left to do, and ends. A command that was started for an effect goes on, and ends
 * with the same exit code as otherwise: a user who stops reading has not asked for anything else.
 *
 * A terminal without a known size reports none: then a usual size is assumed.
 */
export function outputOf(
  stream: Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns' | 'rows' | 'on'>,
  end: () => void = () => process.exit(0),
): Output {
  let goesOnUnread = false;
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (goesOnUnread) return; // The error output itself cannot be written.
    if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    end();
  });
  return {
    write: (text) => void stream.write(text),
    goOnUnread: () => {
      goesOnUnread = true;
    },
    get isTerminal() {
      return stream.isTTY === true;
    },
    get columns() {
      return stream.columns || 80;
    },
    get rows() {
      return stream.isTTY ? stream.rows || 24 : Number.POSITIVE_INFINITY;
    },
  };
}

/**
 * Aborts with the first signal to end; a second signal ends the process at once, unless that signal is the echo of the
 * first. A closed terminal is such a signal, unless SIGHUP means something else here.
 */
export function interruption(hangup: 'ends' | 'is ignored' = 'ends'): AbortSignal & Disposable {
  const controller = new AbortController();
  const echoes = new SignalEchoes();
  const end = (signal: Signal): void => {
    if (echoes.isEcho(signal, performance.now()) && inTerminalForeground()) return;
    if (controller.signal.aborted) process.exit(130);
    controller.abort();
  };
  const onHangup = hangup === 'ends' ? end : (): void => {};
  process.on('SIGINT', end).on('SIGTERM', end).on('SIGHUP', onHangup);
  return Object.assign(controller.signal, {
    [Symbol.dispose]: () => {
      process.off('SIGINT', end).off('SIGTERM', end).off('SIGHUP', onHangup);
    },
  });
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
