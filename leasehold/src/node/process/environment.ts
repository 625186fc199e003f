/** The variables that a process was started with. */

import process from 'node:process';

/** Undefined if not set, or empty. */
export function environment(name: string): string | undefined {
  const value = process.env[name];
  return value === '' ? undefined : value;
}

/** Processes that we start from now on do not inherit the variable. */
export function removeVariable(name: string): void {
  delete process.env[name];
}
