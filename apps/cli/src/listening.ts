/**
 * Which option says where a process listens. A missing address, or an address in use, is found far below, where nobody
 * knows the typed options; and a process listens at two or three places, any of which may be the one.
 */

import { AddressUnavailableError, PortInUseError } from 'leasehold/internal';
import { type Address, formatAddress } from 'leasehold/internal';

export interface Listening {
  /** As `host:port`. */
  readonly address: string;
  /** The option that chooses another address. */
  readonly option: string;
  /** The advice if another process listens there; undefined: the advice of the error itself. */
  readonly whenTaken?: string | undefined;
}

/** Where a command with `--http` and `--no-http` tells its status. */
export const statusAt = (http: Address): Listening => ({
  address: formatAddress(http),
  option: '--http',
  whenTaken: 'choose another port with --http <port>, or serve no status with --no-http',
});

/**
 * @throws {AddressUnavailableError | PortInUseError} with the option in the advice, if the address is one of these
 *   places
 */
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
