/**
 * Which option says where a process listens. That this machine has no such address is found out far below, where
 * nobody knows what was typed; and of the two or three places at which a process listens it may be any.
 */

import { AddressUnavailableError } from 'leasehold/manager';
import { formatAddress } from '../../../leasehold/src/node/tcp/address.ts';

export interface Listening {
  /** As `host:port`. */
  readonly address: string;
  /** With what another can be chosen. */
  readonly option: string;
}

/** @throws {AddressUnavailableError} with the option in its advice, if it is one of these places */
export async function inOptions<T>(doing: Promise<T>, places: readonly Listening[]): Promise<T> {
  try {
    return await doing;
  } catch (error) {
    const place =
      error instanceof AddressUnavailableError
        ? places.find(({ address }) => address === formatAddress(error))
        : undefined;
    throw place === undefined ? error : withOption(error as AddressUnavailableError, place);
  }
}

const withOption = (
  { host, port, why, cause }: AddressUnavailableError,
  { option }: Listening,
): AddressUnavailableError =>
  new AddressUnavailableError(host, port, why, { cause }, `choose an address of this machine with ${option}`);
