/**
 * Where a library says what goes wrong when nobody has told it where to: on the standard error, and
 * nothing but warnings and errors. A program that waits in silence for a server that is not there looks
 * as if it hung; who wants silence can ask for it (`logger: silent`).
 */

import process from 'node:process';
import type { LogFacts, Logger } from '../runtime/logger.ts';

const nothing = (): void => {};

const say = (message: string, facts: LogFacts = {}): void => {
  const told = Object.entries(facts).filter(([, value]) => value !== undefined);
  const rest = told.map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  process.stderr.write(`leasehold: ${message}${rest.join('')}\n`);
};

export const warnings: Logger = { debug: nothing, info: nothing, warn: say, error: say };
