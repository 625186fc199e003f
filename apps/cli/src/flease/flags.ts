/**
 * What `joinFlease` says of its options, in the words of the command line. Whoever typed `--skew 3s` has never heard of
 * `clockSkewMs`, and the rules name other options, too.
 */

import { InvalidOptionError } from 'leasehold/flease';
import { UsageError } from '../failure.ts';

const DURATIONS: Readonly<Record<string, string>> = {
  leaseMs: '--lease',
  clockSkewMs: '--skew',
  noticeMs: '--grace',
  answerMs: 'the time for an answer, which is a tenth of --lease and at most 1 s,',
};

const FLAGS: Readonly<Record<string, string>> = {
  ...DURATIONS,
  ...{ id: '--id', peers: '--peers', group: '--group', view: '--view', before: '--before' },
  ...{ listen: '--listen', 'tls.ca': '--ca', 'tls.cert': '--cert', 'tls.key': '--key' },
  ...{ host: '--http', resource: 'the resource' },
};

/** @throws {UsageError} instead of an {@link InvalidOptionError} */
export async function inFlags<T>(doing: Promise<T>): Promise<T> {
  try {
    return await doing;
  } catch (error) {
    throw error instanceof InvalidOptionError ? asUsage(error) : error;
  }
}

export function asUsage(error: InvalidOptionError): UsageError {
  const { option, value, rule } = error;
  const [, list = '', member = ''] = /^(peers|before)\.(.+)$/s.exec(option) ?? [];
  const name = member === '' ? (FLAGS[option] ?? option) : `${member} in --${list}`;
  const isDuration = Object.hasOwn(DURATIONS, option);
  const shown = `${String(value) || 'empty'}${isDuration ? ' ms' : ''}`;
  return new UsageError(`${name} is ${shown}, but ${isDuration ? withUnits(rule) : withFlags(rule)}`, {
    cause: error,
  });
}

const withFlags = (rule: string): string =>
  rule
    .replace(/\b(?:leaseMs|clockSkewMs|noticeMs)\b/g, (option) => FLAGS[option] ?? option)
    .replace(/\bwhere before is given\b/, 'where --before is given');

/** The rules of durations have bare milliseconds at the end of a clause. */
const withUnits = (rule: string): string => withFlags(rule).replace(/(\d)(?=[,:]|$)/g, '$1 ms');
