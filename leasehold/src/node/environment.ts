/** The variables that a process was started with. */

import process from 'node:process';

/** Undefined if it is not set, or empty. */
export function environment(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}

/** Those that we start from now on do not inherit it. */
export function removeVariable(name: string): void {
  delete process.env[name];
}
