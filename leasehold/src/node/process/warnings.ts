/**
 * Where a library logs without a configured logger: on the standard error, and nothing but warnings and errors. A
 * program that waits in silence for a missing server seems to hang; a caller that wants silence can ask for silence
 * (`logger: silent`).
 */

import process from 'node:process';
import type { LogFacts, Logger } from '../../runtime/logger.ts';
import { printable } from '../../runtime/printable.ts';

const nothing = (): void => {};

const say = (message: string, facts: LogFacts = {}): void => {
  const told = Object.entries(facts).filter(([, value]) => value !== undefined);
  const rest = told.map(([name, value]) => ` ${name}=${JSON.stringify(value)}`);
  process.stderr.write(`${printable(`leasehold: ${message}${rest.join('')}`)}\n`);
};

export const warnings: Logger = { debug: nothing, info: nothing, warn: say, error: say };
