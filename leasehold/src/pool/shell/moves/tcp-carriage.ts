/**
 * Lines between owners as connections over TCP, with a port of their own at each owner.
 *
 * **One dialler for each line.** A dialler keeps one connection to an address, and tickets to one target must not wait for each other: behind the chunks
 * of another ticket the last frame of a stop would come too late. A dialler also connects again by itself, without the proofs; so the
 * first end of its connection disposes of it, and the next attempt brings a dialler of its own.
 *
 * **Bounds against strangers.** A process that reaches the port has 2 s to introduce itself, and sends frames of 1 KiB until it is proved. 64 connections are more
 * than an owner has moves; strangers displace each other and never a proved source.
 */

import { type Address, formatAddress } from '../../../node/tcp/address.ts';
import type { PeerInfo } from '../../../node/tcp/connection.ts';
import { dialTcp } from '../../../node/tcp/dial.ts';
import { TransportClosedError } from '../../../node/tcp/errors.ts';
import { MEMBER_LINK, type TcpLimits } from '../../../node/tcp/limits.ts';
import { listenTcp, type TcpListener } from '../../../node/tcp/listen.ts';
import { atEndOfTurn } from '../../../node/turn.ts';
import type { Codec } from '../../../runtime/codec.ts';
import type { LeaseholdError } from '../../../runtime/errors.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { FRAME_BYTES_MAX, TRANSFER_PROTOCOL, UNPROVED_BYTES_MAX } from '../../wire/transfer.ts';
import type { AcceptedLine, Carriage, DialledEnd, LineEnd } from './carriage.ts';
import type { SecureMoves } from './open-move-carrier.ts';

export interface TcpCarriageOptions {
  readonly listen: Address;
  /** @default the address that is listened on */
  readonly advertise?: string | undefined;
  readonly secure?: SecureMoves | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

const LISTEN_LIMITS: Partial<TcpLimits> = {
  ...MEMBER_LINK,
  connections: 64,
  connectionsPerAddress: 64,
  connectionsPending: 32,
  handshakeMs: 2_000,
  frameBytesBeforeAdmission: UNPROVED_BYTES_MAX,
  frameBytesIn: FRAME_BYTES_MAX,
};

/** A target says little; a frame with the largest item must find room behind a full window. */
const DIAL_LIMITS: Partial<TcpLimits> = {
  ...MEMBER_LINK,
  frameBytesIn: 64 * 1024,
  queueBytesOut: 2 * FRAME_BYTES_MAX,
};

/** A line carries frames as they are: the streaming code counts and checks their bytes. */
const frames: Codec<Uint8Array, Uint8Array> = { encode: (frame) => frame, decode: (frame) => frame };

/**
 * @throws {PortInUseError} or AddressUnavailableError if it cannot listen there
 */
export async function openTcpCarriage(options: TcpCarriageOptions): Promise<Carriage> {
  const carriage = new TcpCarriage(options);
  await carriage.open();
  return carriage;
}

class TcpCarriage implements Carriage {
  readonly #options: TcpCarriageOptions;
  /** The ends of accepted lines, by peer. */
  readonly #ends = new Map<string, LineEnd>();
  readonly #proved = new Set<string>();
  readonly #dialled = new Set<AsyncDisposable>();
  #listener: TcpListener<Uint8Array, Uint8Array> | undefined;
  #address = '';
  #accept: ((line: AcceptedLine) => LineEnd) | undefined;

  constructor(options: TcpCarriageOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { listen, advertise, secure, runtime, logger } = this.#options;
    this.#listener = await listenTcp<Uint8Array, Uint8Array>({
      ...listen,
      ...{ codec: frames, protocol: TRANSFER_PROTOCOL, runtime, logger, limits: LISTEN_LIMITS },
      secure: secure?.listen,
      refuses: secure && ((_, identity) => secure.refusesStranger(identity)),
      admitted: () => this.#proved,
      onPeer: (peer, state, why) => {
        if (state === 'connected') this.#connected(peer);
        else this.#disconnected(peer.id, why ?? new TransportClosedError('the connection is over'));
      },
    });
    this.#listener.listen((from, frame) => this.#ends.get(from)?.received(frame));
    this.#address = advertise ?? formatAddress({ host: listen.host, port: this.#listener.port });
  }

  get address(): string {
    return this.#address;
  }

  accept(callback: (line: AcceptedLine) => LineEnd): void {
    this.#accept = callback;
  }

  #connected({ id, channel, remote, identity }: PeerInfo): void {
    const listener = this.#listener;
    if (listener === undefined || this.#accept === undefined) return;
    const forget = (): void => {
      this.#ends.delete(id);
      this.#proved.delete(id);
    };
    const line: AcceptedLine = {
      ...{ channel, remote },
      send: (frame) => listener.send(id, frame),
      close: (why, lastWords) => {
        forget();
        if (lastWords === undefined) listener.close(id, why);
        else listener.dismiss(id, why, lastWords);
      },
      admit: () => {
        this.#proved.add(id);
        listener.admit(id);
      },
      refuses: (fromName) => this.#options.secure?.refusesSource(identity, fromName),
    };
    this.#ends.set(id, this.#accept(line));
  }

  #disconnected(id: string, why: LeaseholdError): void {
    const end = this.#ends.get(id);
    this.#ends.delete(id);
    this.#proved.delete(id);
    end?.closed(why);
  }

  dial(address: string, toName: string, end: DialledEnd): Disposable {
    const { secure, runtime, logger } = this.#options;
    // Why a line ends is told to its end, which tells the operator when no attempt is left.
    const quiet: Logger = {
      debug: (message, facts) => logger.debug(message, facts),
      info: (message, facts) => logger.info(message, facts),
      warn: (message, facts) => logger.debug(message, facts),
      error: (message, facts) => logger.error(message, facts),
    };
    let isOver = false;
    const close = (): void => {
      if (isOver) return;
      isOver = true;
      this.#dialled.delete(dialer);
      void dialer[Symbol.asyncDispose]();
    };
    const dialer = dialTcp<Uint8Array, Uint8Array>({
      ...{ codec: frames, protocol: TRANSFER_PROTOCOL, role: 'source', limits: DIAL_LIMITS },
      ...{ runtime, logger: quiet, secure: secure?.dial },
      expects: secure && ((at, identity) => secure.refusesTarget(at, identity, toName)),
      onState: (_, state, why) => {
        if (isOver) return;
        if (state === 'disconnected') {
          close();
          end.closed(why ?? new TransportClosedError('the connection is over'));
          return;
        }
        const channel = dialer.welcome(address)?.channel ?? '';
        end.opened({
          ...{ channel, remote: address, close },
          send: (frame) => dialer.send(address, frame),
        });
      },
    });
    dialer.listen((_, frame) => {
      if (!isOver) end.received(frame);
    });
    this.#dialled.add(dialer);
    // The dialler reports a bad address at once; the end is to hear of it in a later turn, like of everything else.
    atEndOfTurn(() => {
      if (!isOver) dialer.connect(address);
    });
    return { [Symbol.dispose]: close };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const dialled = [...this.#dialled];
    this.#dialled.clear();
    this.#ends.clear();
    await Promise.all([
      ...dialled.map((dialer) => dialer[Symbol.asyncDispose]()),
      this.#listener?.[Symbol.asyncDispose](),
    ]);
  }
}
