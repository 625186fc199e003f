/**
 * What is wrong with a message, while it is being read.
 *
 * It is thrown as deep inside as it is found and knows only its rule there; every level that it passes
 * on the way out puts its own place in front, so that a good message pays nothing for paths:
 *
 *     'must be above start'  at  end  →  [3].end  →  rows[3].end
 *
 * At the edge it becomes the error that callers know. It never gets further than that.
 */

import { MalformedMessageError } from '../errors.ts';

export class Flaw {
  readonly rule: string;
  readonly path: string;

  constructor(rule: string, path = '') {
    this.rule = rule;
    this.path = path;
  }
}

/** The same flaw, seen from one level further out. Anything else is handed on as it is. */
export function inside(place: string, error: unknown): unknown {
  if (!(error instanceof Flaw)) return error;
  const dot = error.path === '' || error.path.startsWith('[') ? '' : '.';
  return new Flaw(error.rule, `${place}${dot}${error.path}`);
}

/**
 * Reads, and says what was wrong in the way that callers know.
 *
 * @throws {MalformedMessageError} for a flaw
 */
export function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Flaw)) throw error;
    throw new MalformedMessageError(error.path === '' ? 'the message' : error.path, error.rule);
  }
}
