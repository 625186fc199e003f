/** The variables that a process was started with. */

import process from 'node:process';

/** Undefined if it is not set, or empty. */
export function environment(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}
