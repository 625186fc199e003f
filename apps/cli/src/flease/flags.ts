/**
 * The errors of `joinFlease` and `startManager` about their options, in the words of the command line. A user who
 * typed `--clock-skew 3s` has never heard of `clockSkewMs`, and the rules name other options, too.
 */

import { brokenRule } from 'leasehold/internal';
import { UsageError } from '../failure.ts';

/** The flags of a command, by the library's names. */
export interface Flags {
  /** Of which the value, and figures in the rule, are milliseconds. */
  readonly durations: Readonly<Record<string, string>>;
  /** The rest. An option inside a list of peers goes by the name of the list. */
  readonly others: Readonly<Record<string, string>>;
  readonly inRules: readonly (readonly [RegExp, string])[];
}

/** Of a command that is a member itself. */
export const MEMBER_FLAGS: Flags = {
  durations: {
    leaseMs: '--lease',
    clockSkewMs: '--clock-skew',
    noticeMs: '--notice',
    answerTimeoutMs: 'the time for an answer, which is a tenth of --lease and at most 1 s,',
  },
  others: {
    ...{ name: '--name', peers: '--peers', cell: '--cell' },
    ...{ peersVersion: '--peers-version', peersBefore: '--peers-before' },
    ...{
      listen: '--listen',
      advertise: '--advertise',
      'tls.ca': '--ca',
      'tls.cert': '--cert',
      'tls.key': '--key',
    },
    ...{ host: '--http', resource: 'the resource' },
  },
  inRules: [
    [/\bleaseMs\b/g, '--lease'],
    [/\bclockSkewMs\b/g, '--clock-skew'],
    [/\bnoticeMs\b/g, '--notice'],
    [/\bwhere peersBefore is given\b/g, 'where --peers-before is given'],
  ],
};

/** Of a Manager, also with `--store flease`. The leader lease has no flag, but a name in the configuration. */
export const MANAGER_FLAGS: Flags = {
  durations: {
    'store.flease.clockSkewMs': '--clock-skew',
    'store.flease.takeoverMs': '--takeover',
    'store.flease.answerTimeoutMs':
      'the time for an answer, which is a tenth of leaderLeaseMs and at most 1 s,',
  },
  others: {
    ...{ 'store.flease.name': '--name', 'store.flease.peers': '--peers' },
    ...{ 'store.flease.cell': '--cell', 'store.flease.listen': '--cell-listen' },
    ...{ 'store.flease.peersVersion': '--peers-version' },
    ...{ 'store.flease.peersBefore': '--peers-before' },
    ...{ cluster: '--cluster', listen: '--listen', 'http.host': '--http' },
    ...{ advertise: '--advertise', firstStart: '--first-start' },
    ...{ 'store.flease.tls.ca': '--store-ca', 'store.flease.tls.cert': '--store-cert' },
    ...{ 'store.flease.tls.key': '--store-key' },
  },
  inRules: [
    [/\bleaseMs\b/g, 'leaderLeaseMs'],
    [/\bclockSkewMs\b/g, '--clock-skew'],
    [/\bsay insecure: true \(--insecure\)/g, 'say --insecure'],
    [/\bwhere peersBefore is given\b/g, 'where --peers-before is given'],
  ],
};

/** @throws {UsageError} instead of an {@link InvalidArgumentError} about something that has a flag */
export async function inFlags<T>(doing: Promise<T>, flags: Flags = MEMBER_FLAGS): Promise<T> {
  try {
    return await doing;
  } catch (error) {
    throw asUsage(error, flags) ?? error;
  }
}

function asUsage(error: unknown, flags: Flags): UsageError | undefined {
  const broken = brokenRule(error);
  if (broken === undefined) return undefined;
  const { option, value, rule } = broken;
  const name = flagOf(option, flags);
  if (name === undefined) return undefined;
  const isDuration = Object.hasOwn(flags.durations, option);
  const shown = `${String(value) || 'empty'}${isDuration ? ' ms' : ''}`;
  const words = flags.inRules.reduce((said, [pattern, flag]) => said.replace(pattern, flag), rule);
  return new UsageError(`${name} is ${shown}, but ${isDuration ? withUnits(words) : words}`, {
    cause: error,
  });
}

function flagOf(option: string, { durations, others }: Flags): string | undefined {
  if (Object.hasOwn(durations, option)) return durations[option];
  if (Object.hasOwn(others, option)) return others[option];
  const list = Object.keys(others).find((name) => option.startsWith(`${name}.`));
  return list === undefined ? undefined : `${option.slice(list.length + 1)} in ${others[list]}`;
}

/** The rules of durations have bare milliseconds at the end of a clause. */
const withUnits = (rule: string): string => rule.replace(/(\d)(?=[,:](?!\d)|$)/g, '$1 ms');
