/**
 * Tells when the text of a file changes.
 *
 * The notices of the operating system miss important cases: an editor that renames a new file over the old one, a
 * symbolic link that is turned to another directory, a network file system. Times and sizes miss a quick second
 * change. So the file is simply read, once a second, and the text compared; a large file is not read at all.
 *
 * A file that is missing, half replaced or unreadable changes nothing: the last text stands.
 */

import { open } from 'node:fs/promises';
import type { Runtime } from '../runtime/runtime.ts';
import { later } from '../runtime/time.ts';

export interface WatchOptions {
  /** @default 1_000 */
  everyMs?: number | undefined;

  /** Told when the file cannot be read, once until the file can be read again. A missing file is such a case. */
  onProblem?: ((cause: unknown) => void) | undefined;

  /** Told when a file that could not be read has the same text as before. */
  onMended?: ((text: string) => void) | undefined;
}

const BYTES_MAX = 1024 * 1024;

/** Calls back with the first text that is found, and then with every other one. */
export function watchFile(
  path: string,
  runtime: Runtime,
  onChange: (text: string) => void,
  options: WatchOptions = {},
): Disposable {
  const { everyMs = 1_000, onProblem = () => {}, onMended = () => {} } = options;
  let text: string | undefined;
  let inTrouble = false;
  let over = false;
  let wake: Disposable | undefined;

  const look = async (): Promise<void> => {
    const found = await readBounded(path).catch((cause: unknown) => new Unread(cause));
    if (over) return;
    wake = runtime.wakeAt(later(runtime.now(), everyMs), () => void look());
    if (found instanceof Unread) {
      if (!inTrouble) onProblem(found.cause);
      inTrouble = true;
      return;
    }
    const isMended = inTrouble;
    inTrouble = false;
    if (found === text) {
      if (isMended) onMended(found);
      return;
    }
    text = found;
    onChange(found);
  };

  void look();
  return {
    [Symbol.dispose]: () => {
      over = true;
      wake?.[Symbol.dispose]();
    },
  };
}

class Unread {
  readonly cause: unknown;

  constructor(cause: unknown) {
    this.cause = cause;
  }
}

async function readBounded(path: string): Promise<string> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    if (size > BYTES_MAX)
      throw new RangeError(`"${path}" has ${size} bytes; more than ${BYTES_MAX} is not read`);
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
