/**
 * A flaw in a message, found while reading.
 *
 * The flaw is thrown where it is found, and knows only the broken rule there; every level on the way out puts its own
 * place in front, so that a good message pays nothing for paths:
 *
 *     'must be above start'  at  end  →  [3].end  →  rows[3].end
 *
 * At the edge the flaw becomes the error that callers know. A flaw never gets further than that.
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

/** The same flaw, seen from one level further out. Anything else is handed on unchanged. */
export function inside(place: string, error: unknown): unknown {
  if (!(error instanceof Flaw)) return error;
  const dot = error.path === '' || error.path.startsWith('[') ? '' : '.';
  return new Flaw(error.rule, `${place}${dot}${error.path}`);
}

/**
 * Reads, and throws a flaw as the error that callers know.
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
