/**
 * Opens the port of an owner for state: the carrier of moves with real sockets, keys and chance.
 *
 * The carrier is a `KeyCarrier` that listens on one port, dials one connection for each ticket, and proves the incarnation of its owner
 * on both. It speaks for the process whose key `signer` has, so the incarnation needs no option of its own.
 */

import { randomId } from '../../../node/id.ts';
import { nodeVerifier } from '../../../node/signer.ts';
import type { Address } from '../../../node/tcp/address.ts';
import type { DialSockets, ListenSockets } from '../../../node/tcp/sockets.ts';
import { atEndOfTurn } from '../../../node/turn.ts';
import type { Identity } from '../../../node/identity/peer-identity.ts';
import type { LeaseholdError } from '../../../runtime/errors.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { Signer } from '../../../runtime/signing.ts';
import type { MoveInput } from '../../core/moves/seam.ts';
import type { ItemCodec } from '../state/movable.ts';
import type { KeyCarrier } from './key-carrier.ts';
import { MoveCarrier } from './move-carrier.ts';
import { openTcpCarriage } from './tcp-carriage.ts';

export interface MoveCarrierOptions {
  readonly pool: string;
  /** The key of the owner's incarnation: the same signer that proves the incarnation to the Managers. */
  readonly signer: Signer;
  /** Where to listen; port 0 for any that is free. */
  readonly listen: Address;
  /** What other owners dial, as `host:port`. @default the address that is listened on */
  readonly advertise?: string | undefined;
  /** Encrypted sockets for both directions. @default plain ones */
  readonly secure?: SecureMoves | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** How fast items leave, all moves together. The frames of a stop do not wait. @default no limit */
  readonly bytesPerSecond?: number | undefined;
  /** How long a stream may make no progress, at the source and at the target each. */
  readonly stallTimeoutMs: number;
  /** For every {@link Movable} that brings no codec of its own. */
  readonly defaultCodec: ItemCodec<unknown>;
  /** Takes over what the carrier answers: `Owner.hearMove`, with the present instant. */
  say(input: MoveInput): void;
}

export interface SecureMoves {
  readonly listen: ListenSockets;
  readonly dial: DialSockets;
  /** Why the listener at this address may not be the target, by its certificate alone. */
  refusesTarget(address: string, identity: Identity, toName: string): LeaseholdError | undefined;
  /** Why a process may not be welcome at all: whatever ticket it may name, it is no owner of this pool. */
  refusesStranger(identity: Identity): LeaseholdError | undefined;
  /** Why the process that dialled may not be the source. */
  refusesSource(identity: Identity, fromName: string): LeaseholdError | undefined;
}

/**
 * Resolves when the port is open.
 *
 * @throws {PortInUseError} or AddressUnavailableError if it cannot listen there
 */
export async function openMoveCarrier(options: MoveCarrierOptions): Promise<KeyCarrier> {
  const carriage = await openTcpCarriage(options);
  return new MoveCarrier({
    ...options,
    ...{ carriage, atEndOfTurn, verifier: nodeVerifier, newNonce: () => randomId() },
    say: (input) => options.say(input),
  });
}
