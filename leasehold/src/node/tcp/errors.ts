/**
 * Why there is no connection, or no longer. Each is a decision somebody can make: `retryable` ones
 * the dialler tries again by itself; the others are for the operator that set the address or the version.
 */

import { InUseError, InvalidArgumentError, UnavailableError, SingleError } from '../../runtime/errors.ts';

/** Another process listens there. Stop it, or listen on another port. */
export class PortInUseError extends InUseError {
  readonly host: string;
  readonly port: number;

  constructor(
    host: string,
    port: number,
    options?: ErrorOptions,
    advice = 'stop who listens there, or choose another port',
  ) {
    super('PORT_IN_USE', `port ${port} on ${host} is in use; ${advice}`, {
      ...options,
      details: { host, port },
    });
    this.host = host;
    this.port = port;
  }
}

/**
 * Other groups of this process listen at the address, with other settings. What is agreed on before the group is known has to be the
 * same for all of them: give all the same, or this one an address of its own.
 */
export class SharedAddressError extends InvalidArgumentError {
  readonly host: string;
  readonly port: number;

  constructor(
    host: string,
    port: number,
    {
      group,
      others,
      different,
    }: { readonly group: string; readonly others: readonly string[]; readonly different: string },
  ) {
    super(
      'SHARED_ADDRESS',
      `group ${group} cannot listen at ${host}:${port} with other ${different} than ${others.join(', ')} of the same process: give all of them the same, or ${group} an address of its own`,
      { details: { host, port, group, others } },
    );
    this.host = host;
    this.port = port;
  }
}

/** Several groups listen at this address, and the group of the client is not among them. */
export class GroupNotHereError extends UnavailableError {
  constructor(group: string | undefined, here: readonly string[]) {
    super(
      'GROUP_NOT_HERE',
      `no member of group ${group ?? 'without a name'} listens here, only of ${here.join(', ')}: start the member there, or mend the address in peers`,
    );
  }
}

/** This machine has no such address, or may not listen there. */
export class AddressUnavailableError extends InvalidArgumentError {
  readonly host: string;
  readonly port: number;
  /** In the words of the system. */
  readonly why: string;

  constructor(
    host: string,
    port: number,
    why: string,
    options?: ErrorOptions,
    advice = 'choose an address of this machine',
  ) {
    super('ADDRESS_UNAVAILABLE', `cannot listen on ${host}, port ${port}: ${why}; ${advice}`, {
      ...options,
      details: { host, port, why },
    });
    this.host = host;
    this.port = port;
    this.why = why;
  }
}

/** Nobody answers at the address. Check that the process runs there and that the network lets us through. */
export class UnreachableError extends SingleError {
  override readonly name = 'UnreachableError';
  readonly code = 'UNREACHABLE';
  readonly retryable = true;
  readonly address: string;

  constructor(address: string, why: string, options?: ErrorOptions) {
    super(`cannot reach ${address}: ${why}`, options);
    this.address = address;
  }
}

/** The connection was there and ended without a word. */
export class ConnectionLostError extends SingleError {
  override readonly name = 'ConnectionLostError';
  readonly code = 'CONNECTION_LOST';
  readonly retryable = true;

  constructor(why: string, options?: ErrorOptions) {
    super(`the connection was lost: ${why}`, options);
  }
}

/** Both speak the protocol, but no version in common. Upgrade the older side. */
export class VersionMismatchError extends SingleError {
  override readonly name = 'VersionMismatchError';
  readonly code = 'VERSION_MISMATCH';
  readonly retryable = false;

  constructor(message: string) {
    super(message);
  }
}

/** The process at the other end speaks another protocol altogether: another port was meant. */
export class WrongProtocolError extends SingleError {
  override readonly name = 'WrongProtocolError';
  readonly code = 'WRONG_PROTOCOL';
  readonly retryable = false;
  /** The protocol it seems to be: `HTTP`, `TLS`, a protocol's name. */
  readonly spoken: string;

  constructor(spoken: string, wanted: string, advice = 'check the address and the port') {
    super(`the other side speaks ${spoken}, not ${wanted}; ${advice}`);
    this.spoken = spoken;
  }
}

/** The other side did not introduce itself as the protocol wants it. */
export class HandshakeError extends SingleError {
  override readonly name = 'HandshakeError';
  readonly code = 'MALFORMED_HANDSHAKE';
  readonly retryable = false;

  constructor(rule: string, options?: ErrorOptions) {
    super(`malformed handshake: ${rule}; is this the right port?`, options);
  }
}

/** The other side refused us, with a code of its own. */
export class HandshakeRefusedError extends SingleError {
  override readonly name = 'HandshakeRefusedError';
  readonly code = 'HANDSHAKE_REFUSED';
  readonly retryable = true;
  /** The code that the other side gave. */
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(`the other side refused the connection (${reason}): ${message}`);
    this.reason = reason;
  }
}

/** A frame announced more bytes than are taken. Nothing of it was kept. Check which program uses that port. */
export class FrameTooLargeError extends SingleError {
  override readonly name = 'FrameTooLargeError';
  readonly code = 'FRAME_TOO_LARGE';
  readonly retryable = false;
  readonly bytes: number;
  readonly limitBytes: number;

  constructor(bytes: number, limitBytes: number) {
    super(
      `a frame of ${bytes} bytes was announced, but at most ${limitBytes} are taken; usually something else speaks there, so check the address and the port`,
    );
    this.bytes = bytes;
    this.limitBytes = limitBytes;
  }
}

export type Deadline = 'handshake' | 'frame' | 'silence' | 'queue';

const MISSED: Record<Deadline, (ms: number) => string> = {
  handshake: (ms) => `it did not introduce itself within ${ms} ms`,
  frame: (ms) => `it began a frame and did not end it within ${ms} ms`,
  silence: (ms) => `nothing was heard from it for ${ms} ms`,
  queue: (ms) => `what waits to be sent to it has been at the limit for ${ms} ms: it reads too slowly`,
};

/** The other side was too slow, or is gone. */
export class PeerTimeoutError extends SingleError {
  override readonly name = 'PeerTimeoutError';
  readonly code = 'PEER_TIMEOUT';
  readonly retryable = true;
  readonly deadline: Deadline;

  constructor(deadline: Deadline, ms: number) {
    super(`the peer was given up: ${MISSED[deadline](ms)}`);
    this.deadline = deadline;
  }
}

/** As many connections as are allowed. Raise the limit, or find out which program opens them all. */
export class TooManyConnectionsError extends SingleError {
  override readonly name = 'TooManyConnectionsError';
  readonly code = 'TOO_MANY_CONNECTIONS';
  readonly retryable = true;

  constructor(which: string, limit: number, what = 'connections') {
    super(
      `${which} already has ${limit} ${what}, which is the limit; find out who opens them, and close some`,
    );
  }
}

/** Frames that were begun and not ended took up too much memory, and this peer's was the largest. It may connect again. */
export class UnfinishedFramesError extends SingleError {
  override readonly name = 'UnfinishedFramesError';
  readonly code = 'UNFINISHED_FRAMES';
  readonly retryable = true;
  readonly limitBytes: number;

  constructor(limit: 'unfinishedBytesTotal' | 'unfinishedBytesBeforeAdmission', limitBytes: number) {
    const peers = limit === 'unfinishedBytesTotal' ? 'all peers' : 'peers that were not admitted';
    super(
      `unfinished frames of ${peers} took up more than ${limitBytes} bytes (${limit}), and this peer had the largest; find out which peers begin frames and do not end them`,
    );
    this.limitBytes = limitBytes;
  }
}

/** We closed it ourselves: unused for long, or disposed. */
export class TransportClosedError extends SingleError {
  override readonly name = 'TransportClosedError';
  readonly code = 'TRANSPORT_CLOSED';
  readonly retryable = true;

  constructor(why: string) {
    super(`the connection was closed: ${why}`);
  }
}
