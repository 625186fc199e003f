/**
 * A Manager's configuration from a file that is watched: JSON, a {@link ManagerConfiguration}. The file is read before
 * the Manager starts, since a Manager with a wrong configuration should not start; from then on a missing or wrong
 * file is logged, once for each text, and the configuration in force stays.
 */

import { nodeRuntime } from '../../../node/runtime.ts';
import { watchFile } from '../../../node/watch-file.ts';
import { InvalidArgumentError, LeaseholdError } from '../../../runtime/errors.ts';
import { type Logger, silent } from '../../../runtime/logger.ts';
import { type ManagerConfiguration, resolveConfiguration } from './configuration.ts';

/** A file with the configuration of a Manager. Changes of the file are applied while the Manager runs. */
export interface ConfigurationFile extends Disposable {
  /** The first configuration. */
  readonly first: ManagerConfiguration;
  /** From now on changes are handed to `apply`, beginning with one that was made meanwhile. */
  follow(apply: (configuration: ManagerConfiguration) => void): void;
}

/** The file cannot be used as a configuration. Nothing was changed. */
const unusable = (file: string, why: string, options?: ErrorOptions): InvalidArgumentError =>
  new InvalidArgumentError('INVALID_CONFIGURATION', `the configuration in "${file}" cannot be used: ${why}`, {
    module: 'manager',
    details: { file },
    ...options,
  });

const isUnusable = (error: unknown): error is InvalidArgumentError =>
  error instanceof InvalidArgumentError && error.code === 'INVALID_CONFIGURATION';

/**
 * Resolves when the file was first read, and is good.
 *
 * @throws {InvalidArgumentError}
 */
export function openConfigurationFile(
  file: string,
  { logger = silent, everyMs }: { logger?: Logger | undefined; everyMs?: number | undefined } = {},
): Promise<ConfigurationFile> {
  return new Promise((resolve, reject) => {
    let opened = false;
    let latest: ManagerConfiguration | undefined;
    let apply: ((configuration: ManagerConfiguration) => void) | undefined;

    const refuse = (error: InvalidArgumentError): void => {
      if (opened) {
        logger.error(`${error.message}; the one before stays in force`, { code: error.code });
        return;
      }
      watching[Symbol.dispose]();
      reject(error);
    };
    const take = (text: string): void => {
      let read: ManagerConfiguration;
      try {
        read = parseConfiguration(file, text);
      } catch (error) {
        if (!isUnusable(error)) throw error;
        refuse(error);
        return;
      }
      latest = read;
      if (opened) apply?.(read);
      else resolve(openedWith(read));
      opened = true;
    };
    const openedWith = (first: ManagerConfiguration): ConfigurationFile => ({
      first,
      follow: (use) => {
        apply = use;
        if (latest !== undefined && latest !== first) use(latest);
      },
      [Symbol.dispose]: () => watching[Symbol.dispose](),
    });
    const onProblem = (cause: unknown): void =>
      refuse(unusable(file, `it cannot be read: ${messageOf(cause)}`, { cause }));
    const onMended = (text: string): void => {
      try {
        parseConfiguration(file, text);
      } catch (error) {
        if (!isUnusable(error)) throw error;
        refuse(error);
        return;
      }
      logger.warn('the configuration file can be read again, and says what is in force', { file });
    };
    const watching = watchFile(file, nodeRuntime(), take, { everyMs, onProblem, onMended });
  });
}

/** @throws {InvalidArgumentError} */
export function parseConfiguration(file: string, text: string): ManagerConfiguration {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw unusable(file, `it is not JSON: ${messageOf(cause)}`, { cause });
  }
  try {
    resolveConfiguration(value as ManagerConfiguration);
  } catch (cause) {
    if (!(cause instanceof LeaseholdError)) throw cause;
    throw unusable(file, cause.message, { cause });
  }
  return value as ManagerConfiguration;
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
