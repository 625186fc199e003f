/** A context for tests that keeps the output. */

import type { Context } from '../context.ts';

export interface RecordedContext extends Context {
  /** The output so far. */
  readonly printed: () => string;
  readonly complained: () => string;
}

export function recordedContext(
  settings: {
    environment?: Record<string, string>;
    isTerminal?: boolean;
    columns?: number;
    rows?: number;
    demoCalledAs?: string;
    ask?: (question: string) => Promise<string>;
  } = {},
): RecordedContext {
  const { environment = {}, isTerminal = false, columns = 100, rows = 50, demoCalledAs, ask } = settings;
  let [out, err] = ['', ''];
  const size = { isTerminal, columns, rows, goOnUnread: () => {} };
  return {
    out: { write: (text) => void (out += text), ...size },
    err: { write: (text) => void (err += text), ...size },
    ask,
    environment,
    calledAs: 'leasehold',
    demoCalledAs,
    exitCode: 0,
    printed: () => out,
    complained: () => err,
  };
}
