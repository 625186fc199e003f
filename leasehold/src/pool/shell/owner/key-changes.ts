/**
 * Keys that come and go, in a running process: the application, the handles and the callers that wait are told in the turn in
 * which the core tells it. (Those that move with their state are in `shell/moves/`.)
 *
 *     granted     onGrant, then served                        pool.granted
 *     arriving    onArrive, then served
 *     revoking    callers turned away; onRevoke, then let go of
 *     lapsed      handles abort, callers turned away          pool.lost
 *     dropped     the same, and onLost: nothing is remembered pool.lost
 *     departed    as lapsed, but nothing was lost             pool.departed
 *
 * It also knows whether this owner is *bare*: it had keys, has none, and nothing explains that. The policy leaves something to every member that takes keys. An owner that drains or is
 * cordoned is to have none, so that is no sign of trouble; nor is it that keys have moved away with their state.
 */

import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { HandleEvents } from '../../../node/service/handle-events.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { NumberedSpan } from '../../core/messages.ts';
import type { Told } from '../../core/owner/transitions.ts';
import type { Application } from '../application.ts';
import { notOwner } from '../errors.ts';
import type { HeldKeys } from './held-keys.ts';
import type { KeyQueue } from './key-queue.ts';
import type { Upcall, Upcalls } from './upcalls.ts';

/** The functions of the application for keys that come and go. @internal */
export interface KeyUpcalls {
  readonly onGrant?: Upcall | undefined;
  readonly onArrive?: Upcall | undefined;
  readonly onRevoke?: Upcall | undefined;
  readonly onLost?: ((ranges: RangeSet) => unknown) | undefined;
}

/** @internal */
export interface KeyChangesAround {
  readonly pool: string;
  readonly name: string;
  readonly upcalls: KeyUpcalls;
  readonly application: Application;
  readonly calls: Upcalls;
  readonly queue: KeyQueue;
  readonly held: HeldKeys;
  readonly events: HandleEvents<'pool'>;
  readonly logger: Logger;
  /** Whether it is all right to have no keys: this owner leaves, drains or takes none. */
  mayBeBare(): boolean;
  /** Whether there is something to serve, or soon will be. */
  hasKeys(): boolean;
  /** Told before the application: what is remembered of these keys is worth nothing. */
  forget(spans: readonly NumberedSpan[]): void;
  /** Tell the core. */
  loaded(spans: readonly NumberedSpan[]): void;
  flushed(spans: readonly NumberedSpan[]): void;
}

/** @internal */
export class KeyChanges {
  readonly #around: KeyChangesAround;
  /** How often keys were lost. */
  losses = 0;
  /** A line said that keys are no longer held here, and no line yet that some are again. */
  #saidToBeBare = false;

  constructor(around: KeyChangesAround) {
    this.#around = around;
  }

  /** It was said that nothing is held any more, and not yet that something is. */
  get isBare(): boolean {
    return this.#saidToBeBare;
  }

  execute(what: Exclude<Told, 'returned'>, spans: readonly NumberedSpan[]): void {
    switch (what) {
      case 'granted':
        this.#granted(spans);
        break;
      case 'arriving':
        this.#arriving(spans);
        break;
      case 'revoking':
        this.#revoking(spans);
        break;
      case 'lapsed':
        this.#around.logger.warn('the lease expired', { pool: this.#around.pool, spans: spans.length });
        this.#saidToBeBare = true;
        this.#lose(spans, false);
        break;
      case 'dropped':
        this.#lose(spans, true);
        break;
      case 'departed':
        this.#around.events.tell('pool.departed', { ranges: spans.length });
        this.#leave(RangeSet.of(spans));
        break;
      case 'resumed':
        this.#holdsAgain('the lease was renewed after its expiry; no other owner had the keys', spans);
        break;
    }
  }

  /** The Managers disagree, so everything is let go of. */
  lostAll(): void {
    this.#saidToBeBare = true;
  }

  #granted(spans: readonly NumberedSpan[]): void {
    const { upcalls, calls, events, loaded } = this.#around;
    events.tell('pool.granted', { ranges: spans.length });
    this.#holdsAgain('keys are held here again; what was remembered of them is not good any more', spans);
    if (upcalls.onGrant !== undefined) calls.load('onGrant', spans, upcalls.onGrant, () => loaded(spans));
    else if (upcalls.onArrive !== undefined) loaded(spans);
  }

  /** Callers wait meanwhile: the state is here. */
  #arriving(spans: readonly NumberedSpan[]): void {
    const { upcalls, calls, queue, events, loaded } = this.#around;
    events.tell('pool.arrived', { ranges: spans.length });
    this.#holdsAgain('keys are held here again, and came with their state', spans);
    if (upcalls.onArrive === undefined) {
      loaded(spans);
      return;
    }
    queue.hold(RangeSet.of(spans));
    calls.load('onArrive', spans, upcalls.onArrive, (arrived) => {
      loaded(spans);
      // Keys that were lost meanwhile may be held back again, for another reason.
      queue.release(arrived);
    });
  }

  #revoking(spans: readonly NumberedSpan[]): void {
    const { upcalls, calls, queue, held, flushed } = this.#around;
    const ranges = RangeSet.of(spans);
    this.#warnIfBare();
    held.shortened();
    queue.turnAway(ranges, notOwner);
    queue.release(ranges);
    calls.flush(spans, queue.idle(ranges), upcalls.onRevoke, () => flushed(spans));
  }

  /** Only an owner whose name another owner has as well is told to give back everything, and hears nothing else about the conflict. */
  #warnIfBare(): void {
    const { pool, name, logger, mayBeBare, hasKeys } = this.#around;
    if (this.#saidToBeBare || mayBeBare() || hasKeys()) return;
    const next = 'if another server runs under this name, give one of them a name of its own';
    logger.warn('this owner is to give back everything', { pool, name, next });
    this.#saidToBeBare = true;
  }

  #holdsAgain(how: string, spans: readonly NumberedSpan[]): void {
    if (this.#saidToBeBare) this.#around.logger.warn(how, { pool: this.#around.pool, spans: spans.length });
    this.#saidToBeBare = false;
  }

  #lose(spans: readonly NumberedSpan[], isForGood: boolean): void {
    const { upcalls, application, events, forget } = this.#around;
    const { onLost } = upcalls;
    const ranges = RangeSet.of(spans);
    this.losses += 1;
    events.tell('pool.lost', { ranges: spans.length, isForGood });
    this.#leave(ranges);
    if (isForGood) forget(spans);
    if (isForGood && onLost !== undefined) application.tell(() => onLost(ranges));
  }

  #leave(ranges: RangeSet): void {
    const { held, queue, calls } = this.#around;
    held.lost(ranges);
    queue.turnAway(ranges, notOwner);
    queue.release(ranges);
    calls.lost(ranges);
  }
}
