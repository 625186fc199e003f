/**
 * Where a member of the command line shows the state: on a port that `flease status` and `flease watch` ask.
 *
 * The port is needed only once there is a member to tell of. But a member that has joined and then cannot open the
 * port has troubled the others, and the user reads first that all is well and then that something is wrong. So the
 * port is tried before. In between another process may take the port, and that error is reported then.
 */

import { type FleaseMember, type JoinFleaseOptions, type Logger, silent } from 'leasehold/flease';
import type { StatusServer } from 'leasehold';
import { checkAddress, PortInUseError, serveHttp, type Address } from 'leasehold/internal';
import { type HttpPlace, serveAt } from '../serve-http.ts';

/**
 * @param http undefined: nowhere
 * @param advice for the case that another process has that port; usually that is another member on this machine
 * @throws {PortInUseError}
 */
export async function tellOverHttp(
  member: FleaseMember,
  http: HttpPlace | undefined,
  logger: Logger,
  advice: string,
): Promise<StatusServer | undefined> {
  if (http === undefined) return undefined;
  try {
    return await serveAt(member, http, logger);
  } catch (error) {
    throw error instanceof PortInUseError ? withAdvice(error, advice) : error;
  }
}

/**
 * If the member's own address is in use as well, this check passes: the member was started twice, another port for
 * HTTP is no help, and joining reports that.
 *
 * @throws {PortInUseError}
 * @throws {AddressUnavailableError} if this machine has no such address
 */
export async function refuseTakenHttp(
  http: Address | undefined,
  { name, peers, listen }: Pick<JoinFleaseOptions, 'name' | 'peers' | 'listen'>,
  advice: string,
): Promise<void> {
  const taken = http && (await takenAt(http));
  if (taken === undefined) return;
  const own = checkAddress(listen === undefined ? `peers.${name}` : 'listen', listen ?? peers[name]);
  if ((await takenAt(own)) !== undefined) return;
  throw withAdvice(taken, advice);
}

/** The error for a port in use, as the HTTP server would throw it. */
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
  new PortInUseError(host, port, { cause }, `another member may serve its status there; ${advice}`);
