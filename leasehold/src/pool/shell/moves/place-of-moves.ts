/**
 * Where an owner listens for keys that come with their state.
 *
 * On loopback only processes of this machine can connect. Elsewhere every process that may join the pool may be sent state, and may
 * claim to send some, so there a token is needed (`secure-moves.ts`), or `insecure`, as for everything that listens without encryption. If nothing is said, and a Manager is on another machine,
 * loopback would be of no use to owners there: then keys of this owner cannot move, which is said once.
 */

import { checkProtected } from '../../../node/mesh/tls-option.ts';
import { type Address, listenAddress, parseAddress } from '../../../node/tcp/address.ts';
import { isLoopback } from '../../../node/tcp/binding.ts';
import type { SecureSockets } from '../../../node/tcp/secure-sockets.ts';
import { brokenRule, invalidOption } from '../../../runtime/errors.ts';
import type { Logger } from '../../../runtime/logger.ts';

/** @internal */
export interface PlaceOptions {
  readonly listen: string | undefined;
  readonly advertise: string | undefined;
  readonly insecure: boolean;
}

/** @internal */
export interface PlaceOfMoves {
  readonly listen: Address;
  readonly advertise: string | undefined;
}

/** All addresses of this machine, which on another machine mean that one. */
const EVERYWHERE = new Set(['0.0.0.0', '::']);

/**
 * Undefined: nowhere.
 *
 * @throws {InvalidArgumentError}
 * @internal
 */
export function placeOfMoves(
  moves: boolean,
  { listen, advertise, insecure }: PlaceOptions,
  managers: readonly string[],
  secure: SecureSockets | undefined,
  logger: Logger,
): PlaceOfMoves | undefined {
  if (!moves) {
    for (const [option, value] of Object.entries({ listen, advertise }))
      if (value !== undefined) throw invalidOption(option, value, 'it is of use only with moves');
    return undefined;
  }
  if (advertise !== undefined) checkAdvertised(advertise);
  if (listen !== undefined) {
    const address = listenAddress('listen', listen);
    checkProtected('listen', listen, address.host, secure, { insecure, logger });
    if (advertise === undefined && EVERYWHERE.has(address.host))
      throw invalidOption(
        'advertise',
        advertise,
        `it must say as host:port where other owners can reach this one, since it listens on ${address.host}`,
      );
    return { listen: address, advertise };
  }
  const elsewhere = managers.filter((manager) => !isLoopback(parseAddress(manager).host));
  if (elsewhere.length === 0) return { listen: { host: '127.0.0.1', port: 0 }, advertise };
  logger.warn(
    'keys cannot move to this owner or away from it: a Manager is on another machine, so say where other owners can bring state (listen, and advertise), with a token (tls) or in a network that keeps others away (insecure)',
    { managers: elsewhere.join(', ') },
  );
  return undefined;
}

function checkAdvertised(advertise: string): void {
  try {
    const { host } = parseAddress(advertise);
    if (!EVERYWHERE.has(host)) return;
  } catch (error) {
    const broken = brokenRule(error);
    if (broken === undefined) throw error;
    throw invalidOption('advertise', advertise, broken.rule);
  }
  throw invalidOption('advertise', advertise, 'it must be an address that others can connect to');
}
