/** Where a member of the command line tells how it is: on a port that `flease status` and `flease watch` ask. */

import {
  type Flease,
  type FleaseServer,
  PortInUseError,
  serveFlease,
  type ServeFleaseOptions,
} from 'leasehold/flease';

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
    if (!(error instanceof PortInUseError)) throw error;
    const { host, port, cause } = error;
    throw new PortInUseError(host, port, { cause }, `another member may tell there how it is; ${advice}`);
  }
}
