/**
 * Whether a process was told to listen twice in one place. The system would say that the port is in use, and a user
 * who looks for the other process finds none.
 */

import { UsageError } from '../failure.ts';

export interface Port {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** The option as typed, as `--http 7500`. */
  readonly said: string;
}

/** Everywhere on this machine. */
const WILDCARDS: readonly string[] = ['0.0.0.0', '::'];

/**
 * @param address where the process listens for the others; the user of the address reports a malformed one
 * @throws {UsageError}
 */
export function refuseOwnPort(address: string | undefined, what: string, ports: readonly Port[]): void {
  const [, host = '', digits = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(address ?? '') ?? [];
  const clash = ports.find(
    (other) => other.port === Number(digits) && other.port > 0 && areOne(host, other.host),
  );
  if (clash === undefined) return;
  throw new UsageError(`${clash.said} is where ${what}: give the two different ports`);
}

const areOne = (one: string, other = '127.0.0.1'): boolean =>
  one === other || WILDCARDS.includes(one) || WILDCARDS.includes(other);
