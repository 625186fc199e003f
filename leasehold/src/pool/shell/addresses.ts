/**
 * Where the Managers are: named by the caller, by the environment, or by a file that is watched, so
 * that Managers can move without anybody being restarted.
 *
 *     managers: ['10.0.0.1:7400', '10.0.0.2:7400']      an option wins
 *     managers: { file: '/etc/leasehold/managers' }     one address a line, # begins a comment
 *     LEASEHOLD_MANAGERS=10.0.0.1:7400,10.0.0.2:7400
 *     LEASEHOLD_MANAGERS_FILE=/etc/leasehold/managers
 *     127.0.0.1:7400                                    if nothing is said
 *
 * A file that becomes empty or unreadable changes nothing: the addresses it had last are better
 * than none.
 */

import { environment } from '../../node/process/environment.ts';
import { parseAddress } from '../../node/tcp/address.ts';
import { watchFile } from '../../node/watch-file.ts';
import { brokenRule, InvalidArgumentError, invalidOption } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import * as is from '../../runtime/option-kinds.ts';
import { type OptionalRow, optional } from '../../runtime/option-table.ts';
import type { Runtime } from '../../runtime/runtime.ts';

/** Addresses of Managers, or a file with one address on each line, which is read again when it changes. */
export type ManagerAddresses = readonly string[] | { readonly file: string };

/** The row of `managers` in every table; `resolveAddresses` has the rest of the rules. @internal */
export const MANAGERS_ROW: OptionalRow<ManagerAddresses> = optional(
  is.anything(),
  'see [where the Managers are](#where-the-managers-are)',
);

const DEFAULT_MANAGER = '127.0.0.1:7400';

export interface Addresses extends Disposable {
  /** Never empty. */
  readonly current: readonly string[];
}

/** @throws {InvalidArgumentError} if there is no address, or one that is none */
export async function resolveAddresses(
  managers: ManagerAddresses | undefined,
  runtime: Runtime,
  logger: Logger,
): Promise<Addresses> {
  if (managers !== undefined) checkForm(managers);
  const list = environment('LEASEHOLD_MANAGERS');
  const file =
    managers !== undefined && 'file' in managers ? managers.file : environment('LEASEHOLD_MANAGERS_FILE');
  if (managers !== undefined && !('file' in managers)) return fixed(parse('managers', managers));
  if (list !== undefined && managers === undefined) {
    return fixed(parse('LEASEHOLD_MANAGERS', list.split(',')));
  }
  return file === undefined ? fixed([DEFAULT_MANAGER]) : watched(file, runtime, logger);
}

/** Not everybody has a compiler to say it. */
function checkForm(managers: unknown): void {
  const isObject = typeof managers === 'object' && managers !== null;
  const isList = Array.isArray(managers) && managers.every((address) => typeof address === 'string');
  if (isList || (isObject && 'file' in managers && typeof managers.file === 'string' && managers.file !== ''))
    return;
  throw invalidOption('managers', managers, "it must be a list, as ['127.0.0.1:7400'], or { file }");
}

const fixed = (current: readonly string[]): Addresses => ({ current, [Symbol.dispose]: () => {} });

/** Resolves when the file was first read. */
function watched(file: string, runtime: Runtime, logger: Logger): Promise<Addresses> {
  const read = (text: string): readonly string[] => parse(file, text.split('\n').map(withoutComment));
  return new Promise((resolve, reject) => {
    let current: readonly string[] | undefined;
    let isOfNoUse = false;
    const refuse = (error: InvalidArgumentError): void => {
      if (current !== undefined) {
        logger.warn('cannot use the file of Manager addresses; the last addresses stay in force', {
          why: error.message,
        });
        isOfNoUse = true;
        return;
      }
      watching[Symbol.dispose]();
      reject(error);
    };
    const take = (text: string): void => {
      const next = read(text);
      const facts = { file, managers: next.join(', ') };
      if (current === undefined) resolve(addresses);
      else if (isOfNoUse) logger.warn('the file of Manager addresses can be used again', facts);
      else logger.info('the addresses of the Managers changed', facts);
      current = next;
      isOfNoUse = false;
    };
    const takeOrRefuse = (text: string): void => {
      try {
        take(text);
      } catch (error) {
        if (!(error instanceof InvalidArgumentError)) throw error;
        refuse(error);
      }
    };
    const watching = watchFile(file, runtime, takeOrRefuse, {
      onProblem: (cause) =>
        refuse(invalidOption('managers', file, `it must be a file that can be read: ${String(cause)}`)),
      onMended: takeOrRefuse,
    });
    const addresses: Addresses = {
      get current() {
        return current ?? [];
      },
      [Symbol.dispose]: () => watching[Symbol.dispose](),
    };
  });
}

const withoutComment = (line: string): string => line.split('#', 1)[0] ?? '';

function parse(from: string, words: readonly string[]): readonly string[] {
  const addresses = words.map((word) => word.trim()).filter((word) => word !== '');
  if (addresses.length === 0)
    throw invalidOption(from, words.join(','), 'it must name a Manager, as host:port');
  for (const address of addresses) checkAddress(from, address);
  return [...new Set(addresses)];
}

/** Says under which option an address is none. */
function checkAddress(from: string, address: string): void {
  try {
    parseAddress(address);
  } catch (error) {
    const broken = brokenRule(error);
    if (broken === undefined) throw error;
    throw invalidOption(from, address, broken.rule);
  }
}
