/**
 * How many files and sockets this process may have open.
 *
 * A listener that accepts more connections than that takes the last descriptor. Then nobody else can connect, the event
 * loop was seen to stand still for half a minute, and a log could not open its next file, which ends the process. So limits
 * on connections are made to fit below this number.
 */

import { readFileSync } from 'node:fs';

/** Infinite where the system does not say. Node has raised the soft limit to the hard one when it started. */
export function openFilesMost(): number {
  let text: string;
  try {
    text = readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return Number.POSITIVE_INFINITY; // Only Linux has this file.
  }
  const soft = /^Max open files\s+(\d+)/m.exec(text)?.[1];
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
}
