/** The port of a command with `--http`, at which the handle of the command shows its state. */

import { serveStatus, type StatusServer } from 'leasehold';
import { type Address, formatAddress } from 'leasehold/internal';
import type { Logger } from 'leasehold/manager';
import { UsageError } from './failure.ts';

export interface HttpPlace extends Address {
  readonly insecure?: boolean | undefined;
  readonly allowedHosts?: readonly string[] | undefined;
}

/**
 * The value of `--http`: `7501`, at this host, or `host:7501`.
 *
 * @throws {UsageError}
 */
export function httpAddress(text: string, ofPortAlone = '127.0.0.1'): Address {
  const [, host = ofPortAlone, port = ''] = /^(?:(\[[^\]]+\]|[^:]+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port === '' || Number(port) > 65_535) {
    throw new UsageError(`"${text}" in --http is neither a port, as 7501, nor an address, as 10.0.0.1:7501`);
  }
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

export const serveAt = (
  handle: Parameters<typeof serveStatus>[0],
  { host, port, insecure, allowedHosts }: HttpPlace,
  logger: Logger,
): Promise<StatusServer> =>
  serveStatus(handle, { listen: formatAddress({ host, port }), insecure, allowedHosts, logger });
