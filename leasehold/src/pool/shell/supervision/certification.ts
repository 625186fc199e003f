/**
 * Carries a {@link Certifier} out: over a transport that is there already, because a certificate that
 * first has to connect is late by a handshake.
 */

import { unreachable } from '../../../runtime/assert.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime, Transport } from '../../../runtime/runtime.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { FromManager, ToManager } from '../../core/messages.ts';
import { Certifier, type CertifierEffect } from './certifier.ts';

export interface CertificationOptions {
  /** The secret of the dead process. */
  secret: string;

  /** The Managers, as `host:port`; a function is asked each time. */
  managers: readonly string[] | (() => readonly string[]);

  /** A way to the Managers. Other listeners on this transport are not disturbed. */
  transport: Transport<ToManager, FromManager>;

  runtime: Runtime;
  logger: Logger;

  /** How long to go on when no Manager answers, in milliseconds. @default 12_000 */
  forMs?: number | undefined;

  /** The same if no Manager has been reached since this was made, in milliseconds. @default forMs */
  unreachedForMs?: number | undefined;

  /** How long to wait for an answer before the next attempt, in milliseconds. @default 500 */
  retryMs?: number | undefined;

  /**
   * Told if no Manager has answered at once: how long the attempts go on, and whether any Manager was ever reached.
   */
  onWait?: ((wait: { readonly forMs: number; readonly hasReached: boolean }) => void) | undefined;
}

/** `certified`: a Manager knows. `ran-out`: none said so in time. `dropped`: disposed of before either. */
export type CertificationOutcome = 'certified' | 'ran-out' | 'dropped';

/** A hold, and a little: `certifier.ts` says why. */
export const CERTIFY_FOR_MS = 12_000;
const RETRY_MS = 500;

const UNCONFIRMED =
  'no Manager has confirmed the death; what the process held becomes free when its lease has expired. Check that a Manager runs at these addresses';
const UNREACHED =
  'no Manager was ever reached, so none could be told of the death; a lease that the process got from another Manager has to expire. Check that a Manager runs at these addresses, and that they are those the process uses';

export class Certification implements Disposable {
  /** Settled once; never rejects. */
  readonly outcome: Promise<CertificationOutcome>;
  readonly #certifier: Certifier;
  readonly #options: CertificationOptions;
  readonly #listening: Disposable;
  #settle: (outcome: CertificationOutcome) => void = () => {};
  /** Somebody was told to wait, and wants to know when that is over. */
  #saidToWait = false;
  #alarm: Disposable | undefined;

  constructor(options: CertificationOptions) {
    const { secret, managers, transport, runtime, forMs = CERTIFY_FOR_MS, retryMs } = options;
    this.#options = options;
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.#certifier = new Certifier({
      secret,
      managers: typeof managers === 'function' ? managers : () => managers,
      retryMs: retryMs ?? RETRY_MS,
      forMs,
      unreachedForMs: options.unreachedForMs ?? forMs,
      random: () => runtime.random(),
    });
    this.#listening = transport.listen((_, message) => {
      if (message.kind === 'certified') this.#input((now) => this.#certifier.receive(message, now));
    });
  }

  /** The process has ended, beyond doubt: tell the Managers. */
  died(): void {
    this.#input((now) => this.#certifier.died(now));
  }

  /** This Manager can be reached; earlier messages may be lost. */
  connected(manager: string): void {
    this.#input(() => this.#certifier.connected(manager));
  }

  /** Somebody wants us to end: soon the first time, now the second. */
  hurry(): void {
    this.#input((now) => this.#certifier.hurry(now));
  }

  [Symbol.dispose](): void {
    this.#alarm?.[Symbol.dispose]();
    this.#listening[Symbol.dispose]();
    this.#settle('dropped');
  }

  #input(act: (now: Instant) => CertifierEffect[]): void {
    const { runtime } = this.#options;
    for (const effect of act(runtime.now())) this.#execute(effect);
    this.#alarm?.[Symbol.dispose]();
    this.#alarm = runtime.wakeAt(this.#certifier.wakeAt, () =>
      this.#input((now) => this.#certifier.wake(now)),
    );
  }

  #execute(effect: CertifierEffect): void {
    const { transport, logger } = this.#options;
    switch (effect.do) {
      case 'send':
        transport.send(effect.to, effect.message);
        break;
      case 'wait':
        this.#saidToWait = true;
        this.#options.onWait?.(effect);
        break;
      case 'certified':
        logger[this.#saidToWait ? 'warn' : 'info']('the death is certified: what the process held is free', {
          afterMs: Math.round(effect.afterMs),
        });
        this.#settle('certified');
        break;
      case 'ran-out':
        logger.warn(effect.hasReached ? UNCONFIRMED : UNREACHED, {
          managers: this.#managers(),
          afterMs: Math.round(effect.afterMs),
        });
        this.#settle('ran-out');
        break;
      default:
        unreachable(effect);
    }
  }

  #managers(): string {
    const { managers } = this.#options;
    return (typeof managers === 'function' ? managers() : managers).join(',');
  }
}
