/**
 * How much a stranger, or all strangers together, can make a Manager keep and do. The defaults have room for thousands
 * of servers behind one address; `docs/options.md` gives the effect of each limit.
 *
 * A peer counts as admitted once the Manager has confirmed the peer's membership over this connection. As long as
 * anybody can become a member, that stops no determined attacker. But owners of keys come first: the limits on sums
 * are limits for peers that are not admitted. A certificate can take the place of that word (`PoolManager` admits).
 */

import type { TcpLimits } from '../../../node/tcp/limits.ts';
import { invalidOption } from '../../../runtime/errors.ts';
import { checkOptionNames, type OptionNames } from '../../../runtime/option-names.ts';
import { MANAGER_LIMITS, type ManagerLimits } from '../../core/manager/settings.ts';

const MIB = 1024 * 1024;

type OfTransport = Pick<
  TcpLimits,
  | 'connections'
  | 'connectionsPerAddress'
  | 'connectionsPending'
  | 'firstByteMs'
  | 'handshakeMs'
  | 'frameBytesIn'
  | 'frameBytesBeforeAdmission'
  | 'unfinishedBytesTotal'
  | 'unfinishedBytesBeforeAdmission'
  | 'messagesPerSecondIn'
  | 'messagesBurstIn'
  | 'bytesPerSecondIn'
  | 'messagesPerSecondInTotal'
  | 'bytesPerSecondInTotal'
>;

const OF_TRANSPORT: OfTransport = {
  ...{ connections: 20_000, connectionsPerAddress: 20_000, connectionsPending: 1_024 },
  ...{ firstByteMs: 2_000, handshakeMs: 5_000 },
  // Room for the report of an owner with as many spans as one can have.
  frameBytesIn: 8 * MIB,
  frameBytesBeforeAdmission: 64 * 1024,
  ...{ unfinishedBytesTotal: 256 * MIB, unfinishedBytesBeforeAdmission: 32 * MIB },
  ...{ messagesPerSecondIn: 100, messagesBurstIn: 500, bytesPerSecondIn: 8 * MIB },
  ...{ messagesPerSecondInTotal: 10_000, bytesPerSecondInTotal: 64 * MIB },
};

interface OfHttp {
  readonly httpConnections: number;
  readonly eventStreams: number;
}

export type ResolvedStrangerLimits = OfTransport & ManagerLimits & OfHttp;

/** The limits of a Manager; each is a positive number. `docs/options.md` says the purpose of each. */
export type StrangerLimits = {
  readonly [Name in keyof ResolvedStrangerLimits]?: ResolvedStrangerLimits[Name] | undefined;
};

const DEFAULTS: ResolvedStrangerLimits = {
  ...OF_TRANSPORT,
  ...MANAGER_LIMITS,
  ...{ httpConnections: 256, eventStreams: 64 },
};

const NAMES = Object.fromEntries(
  Object.keys(DEFAULTS).map((name) => [name, true]),
) as unknown as OptionNames<StrangerLimits>;

/** @throws {InvalidArgumentError} */
export function resolveStrangerLimits(limits: StrangerLimits = {}): ResolvedStrangerLimits {
  checkOptionNames('limits.', limits, NAMES);
  const resolved: Record<keyof ResolvedStrangerLimits, number> = { ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS) as (keyof ResolvedStrangerLimits)[]) {
    const value = limits[name] ?? DEFAULTS[name];
    if (!(value > 0)) throw invalidOption(`limits.${name}`, value, 'it must be positive');
    resolved[name] = value;
  }
  return resolved;
}

/** Descriptors for the log, standard streams, timers, connections to etcd or other Managers, and what the application opens. */
const FILES_RESERVED = 128;
const FEWEST_CONNECTIONS = 16;

/**
 * The same with so few connections that the process can still open its files. Strangers could otherwise take the last
 * descriptor, and a log that cannot open its next file ends the Manager.
 *
 * @param openFiles how many files and sockets the process may have open
 */
export function withinOpenFiles(limits: ResolvedStrangerLimits, openFiles: number): ResolvedStrangerLimits {
  const httpConnections = Math.min(
    limits.httpConnections,
    Math.max(FEWEST_CONNECTIONS, Math.floor(openFiles / 8)),
  );
  const left = openFiles - httpConnections - FILES_RESERVED;
  return {
    ...limits,
    httpConnections,
    connections: Math.min(limits.connections, Math.max(FEWEST_CONNECTIONS, left)),
  };
}

/** Those that the transport knows. */
export const ofTransport = (limits: ResolvedStrangerLimits): Partial<TcpLimits> =>
  Object.fromEntries(Object.keys(OF_TRANSPORT).map((name) => [name, limits[name as keyof OfTransport]]));
