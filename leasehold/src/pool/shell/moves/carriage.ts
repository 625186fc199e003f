/**
 * What streams and stages need of a network: lines. A line is one connection for one attempt of one ticket.
 *
 * A line carries frames in order, whole, and each once, or it closes. It proves nothing: the streaming code puts the proofs of both ends on
 * it (`core/moves/proof.ts`), bound to the line by its channel. With lines of sockets (`tcp-carriage.ts`) this is production; with lines of a
 * simulated network the same streaming code runs in a world.
 */

import type { LeaseholdError } from '../../../runtime/errors.ts';

export interface Line {
  /** Random bytes that the accepting end has drawn for this line, in hexadecimal. */
  readonly channel: string;
  /** Where the peer is, for lines of a log. */
  readonly remote: string;
  send(frame: Uint8Array): void;
  /** The end is not told of it. Sent frames may still arrive; last words do, if the peer reads. */
  close(why: LeaseholdError, lastWords?: Uint8Array): void;
}

export interface AcceptedLine extends Line {
  /** The peer is proved: it may send large frames, and keeps its line when others are too many. */
  admit(): void;
  /** Why the peer may not be the owner of this name, by its certificate; undefined if it may, or if certificates are not asked for. */
  refuses(fromName: string): LeaseholdError | undefined;
}

/** The code above a line. Nothing is called after `closed`. */
export interface LineEnd {
  received(frame: Uint8Array): void;
  /** The peer closed the line, or it was lost, or could not be opened. */
  closed(why: LeaseholdError): void;
}

export interface DialledEnd extends LineEnd {
  opened(line: Line): void;
}

export interface Carriage extends AsyncDisposable {
  /** Where others dial, as `host:port`. */
  readonly address: string;
  /**
   * Opens a line, and says so in a later turn. Disposing closes it.
   *
   * @param toName the owner that has to be there, if certificates can tell; undefined if the name is not known
   */
  dial(address: string, toName: string, end: DialledEnd): Disposable;
  /** Called once, before the first line comes. */
  accept(callback: (line: AcceptedLine) => LineEnd): void;
}
