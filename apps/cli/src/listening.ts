/**
 * Which option says where a process listens. That this machine has no such address, or that somebody listens there,
 * is found out far below, where nobody knows what was typed; and of the two or three places at which a process
 * listens it may be any.
 */

import { AddressUnavailableError, PortInUseError } from 'leasehold/manager';
import { formatAddress } from '../../../leasehold/src/node/tcp/address.ts';

export interface Listening {
  /** As `host:port`. */
  readonly address: string;
  /** With what another can be chosen. */
  readonly option: string;
  /** What to do if another process listens there; undefined: as whoever finds it out says. */
  readonly whenTaken?: string | undefined;
}

/** @throws {AddressUnavailableError | PortInUseError} with the option in its advice, if it is one of these places */
export async function inOptions<T>(doing: Promise<T>, places: readonly Listening[]): Promise<T> {
  try {
    return await doing;
  } catch (error) {
    throw withOption(error, places);
  }
}

function withOption(error: unknown, places: readonly Listening[]): unknown {
  if (!(error instanceof AddressUnavailableError || error instanceof PortInUseError)) return error;
  const place = places.find(({ address }) => address === formatAddress(error));
  if (place === undefined) return error;
  const { host, port, cause } = error;
  if (error instanceof PortInUseError)
    return place.whenTaken === undefined ? error : new PortInUseError(host, port, { cause }, place.whenTaken);
  const advice = `choose an address of this machine with ${place.option}`;
  return new AddressUnavailableError(host, port, error.why, { cause }, advice);
}
