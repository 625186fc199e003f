/**
 * A way to the Managers that is connected before there is anything to say. A certificate that first
 * has to look up a name, connect and introduce itself is late by all of that, and on the worst day by a
 * failed attempt.
 *
 * A dialler connects when there is something to send, and closes unused connections. So every Manager is sent a
 * heartbeat now and then, a frame of no bytes; Managers that are new in the list are found that way too.
 */

import { refusalOfServer } from '../../../node/identity/gate.ts';
import { ANY } from '../../../node/identity/grants.ts';
import type { DialSockets } from '../../../node/tcp/sockets.ts';
import { dialTcp, type TcpDialer } from '../../../node/tcp/dial.ts';
import type { Codec } from '../../../runtime/codec.ts';
import type { LeaseholdError } from '../../../runtime/errors.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime, Transport } from '../../../runtime/runtime.ts';
import { later } from '../../../runtime/time.ts';
import type { FromManager, ToManager } from '../../core/messages.ts';
import { clientCodec, POOL_PROTOCOL } from '../../wire/codec.ts';

export interface ManagerLineOptions {
  readonly managers: () => readonly string[];
  /** @default plain sockets */
  readonly secure?: DialSockets | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** A Manager can be reached that could not before. */
  readonly onConnected: (manager: string) => void;
}

/** Well within the time after which a dialler lets go. */
const KEEP_EVERY_MS = 10_000;

const SOME_POOL = { module: 'pool', group: ANY } as const;

/** `undefined` is a heartbeat. */
const codec: Codec<ToManager | undefined, FromManager> = {
  encode: (message) => (message === undefined ? new Uint8Array() : clientCodec.encode(message)),
  decode: (frame) => clientCodec.decode(frame),
};

export class ManagerLine implements Transport<ToManager, FromManager>, AsyncDisposable {
  readonly #dialer: TcpDialer<ToManager | undefined, FromManager>;
  readonly #options: ManagerLineOptions;
  #next: Disposable | undefined;

  constructor(options: ManagerLineOptions) {
    const { secure, runtime, logger, onConnected } = options;
    this.#options = options;
    this.#dialer = dialTcp({
      ...{ codec, protocol: POOL_PROTOCOL, role: 'supervisor', runtime, logger, secure },
      // A certificate names no pool: whoever may be a Manager of any may hear it, for it can free the keys of one dead process and no more.
      expects: (address, identity) => refusalOfServer(SOME_POOL, ANY, address, identity),
      onState: (manager, state) => {
        if (state === 'connected') onConnected(manager);
      },
    });
    this.#keep();
  }

  send(to: string, message: ToManager): void {
    this.#dialer.send(to, message);
  }

  listen(callback: (from: string, message: FromManager) => void): Disposable {
    return this.#dialer.listen(callback);
  }

  /** Why each Manager that cannot be reached cannot. */
  problems(): ReadonlyMap<string, LeaseholdError> {
    return this.#dialer.problems();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#next?.[Symbol.dispose]();
    await this.#dialer[Symbol.asyncDispose]();
  }

  #keep(): void {
    const { managers, runtime } = this.#options;
    for (const manager of managers()) this.#dialer.send(manager, undefined);
    this.#next = runtime.wakeAt(later(runtime.now(), KEEP_EVERY_MS), () => this.#keep());
  }
}
