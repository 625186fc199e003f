/**
 * Where a member of the command line tells how it is: on a port that `flease status` and `flease watch` ask.
 *
 * The port is needed only once there is a member to tell of. But a member that has joined and then finds that it cannot
 * tell anybody has troubled the others, and whoever started it reads that all is well and then that it is not. So the
 * port is tried before. In between somebody else may take it, which is said then.
 */

import {
  type Flease,
  type FleaseServer,
  type JoinFleaseOptions,
  PortInUseError,
  serveFlease,
  type ServeFleaseOptions,
  silent,
} from 'leasehold/flease';
import { checkAddress } from '../../../../leasehold/src/flease/shell/peers-option.ts';
import { serveHttp } from '../../../../leasehold/src/node/http/server.ts';
import type { Address } from '../../../../leasehold/src/node/tcp/address.ts';

/**
 * @param http undefined: nowhere
 * @param advice what to do where another process has that port; it is usually another member on this machine
 * @throws {PortInUseError}
 */
export async function tellOverHttp(
  group: Flease,
  http: ServeFleaseOptions | undefined,
  advice: string,
): Promise<FleaseServer | undefined> {
  if (http === undefined) return undefined;
  try {
    return await serveFlease(group, http);
  } catch (error) {
    throw error instanceof PortInUseError ? withAdvice(error, advice) : error;
  }
}

/**
 * If the member's own address is in use as well, this passes: it was started twice, another port for HTTP is no help,
 * and whoever joins is told so.
 *
 * @throws {PortInUseError}
 * @throws {AddressUnavailableError} if this machine has no such address
 */
export async function refuseTakenHttp(
  http: Address | undefined,
  { id, peers, listen }: Pick<JoinFleaseOptions, 'id' | 'peers' | 'listen'>,
  advice: string,
): Promise<void> {
  const taken = http && (await takenAt(http));
  if (taken === undefined) return;
  const own = checkAddress(listen === undefined ? `peers.${id}` : 'listen', listen ?? peers[id]);
  if ((await takenAt(own)) !== undefined) return;
  throw withAdvice(taken, advice);
}

/** What is thrown where somebody listens already, as whoever tells over HTTP would be told. */
async function takenAt({ host, port }: Address): Promise<PortInUseError | undefined> {
  try {
    await (await serveHttp({ host, port, routes: [], logger: silent })).close();
    return undefined;
  } catch (error) {
    if (error instanceof PortInUseError) return error;
    throw error;
  }
}

const withAdvice = ({ host, port, cause }: PortInUseError, advice: string): PortInUseError =>
  new PortInUseError(host, port, { cause }, `another member may tell there how it is; ${advice}`);
