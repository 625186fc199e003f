/**
 * A port on which a member shows the group's state: `serveFlease`.
 *
 * People, scripts and Prometheus want to observe a group without being members, and must not be members: a member has
 * a vote. So they ask a member.
 */

import { type ServeOptions, type ServiceServer, serveService } from '../../../node/service/serve-service.ts';
import type { Flease } from '../flease.ts';
import { memberService } from './routes.ts';

export type ServeFleaseOptions = ServeOptions;
export type FleaseServer = ServiceServer;

export const DEFAULT_FLEASE_HTTP_PORT = 7_501;

/**
 * Resolves when the server listens, on port 7501 unless the options say otherwise. Close the server before the member.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 * @throws {AddressUnavailableError} if this machine has no such address
 */
export const serveFlease = (group: Flease, options: ServeFleaseOptions = {}): Promise<FleaseServer> =>
  serveService(memberService(group), options, DEFAULT_FLEASE_HTTP_PORT);
