/**
 * The common part of every process of the demo: reports the state, and ends when told to or when the parent is gone.
 */

import process from 'node:process';
import { aborted, interruption } from '../context.ts';
import { inputEnd } from '../input-end.ts';
import { type Report, REPORT_EVERY_MS } from './messages.ts';

export interface PlayOptions {
  readonly untilInputEnds?: true | undefined;
  /** Reported twice a second. */
  counts(): Report;
  /** A line from the parent. */
  hear?(line: string): void;
  /** The process is told to end. */
  end(): Promise<void>;
}

/** How long to take leave if nobody waits for us any more. */
const ORPHAN_MS = 1_000;

export const tell = (report: Report): void => void process.stdout.write(`${JSON.stringify(report)}\n`);

export async function play(url: string, options: PlayOptions): Promise<void> {
  using signal = interruption();
  using input = options.untilInputEnds ? inputEnd(options.hear) : undefined;
  process.stdout.on('error', () => {}); // Nobody listens any more; the end of the input says the same.
  const timer = input === undefined ? undefined : setInterval(() => tell(options.counts()), REPORT_EVERY_MS);
  if (input !== undefined) tell({ kind: 'ready', pid: process.pid, url });
  else {
    process.stdout.write(
      `Joined, and answers at ${url}. Ctrl-C here: it hands its keys over, with what it keeps, and ends. \`kill -9 ${process.pid}\` in another terminal: it dies with them, and others take them over.\n`,
    );
  }
  await aborted(AbortSignal.any([signal, ...(input ? [input.signal] : [])]));
  clearInterval(timer);
  if (input?.signal.aborted) setTimeout(() => process.exit(0), ORPHAN_MS).unref();
  await options.end();
}
