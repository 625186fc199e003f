/**
 * A Manager core between a fenced log and a transport: it stands for election, follows, leads, and
 * stands again. In a simulated world and in a real process it is the same.
 *
 * The one rule here that safety rests on: an election may be over before the core hears of it (a
 * suspension is noticed first, and the core resigns); then the election is not told.
 */

import type { StorageError } from '../../../runtime/errors.ts';
import type { AppendOutcome, FencedLog, Following, Leadership } from '../../../log/log.ts';
import { unreachable } from '../../../runtime/assert.ts';
import { type Alarm, Driver } from '../../../runtime/driver.ts';
import type { Runtime, Transport } from '../../../runtime/runtime.ts';
import type { SuspensionGuard } from '../../../runtime/suspension.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { TraceEvent } from '../../../runtime/trace.ts';
import type { FromManager, ToManager } from '../messages.ts';
import { isUnreadableLog } from '../state.ts';
import type { Manager, ManagerEffect } from './manager.ts';

/** An observer. Called at the instant it happens, before anything else does. */
export interface ManagerWatcher {
  sends(to: string, message: FromManager): void;
  receives(from: string, message: ToManager): void;
  writes(batch: Uint8Array): void;
  /** After the core has heard of it. */
  wrote(outcome: AppendOutcome): void;
  /** A snapshot takes the place of the log before it. */
  compacts(): void;
  elected(): void;
  /** The machine was suspended; the core may or may not react. */
  suspended?(): void;
  halted(reason: string): void;
  /** The log holds records that this version cannot read. */
  unreadable(error: StorageError): void;
  traced(event: TraceEvent): void;
  /** After an input and all that came of it. */
  afterInput(): void;
}

export interface ManagerDriverOptions {
  readonly core: Manager;
  readonly clock: Pick<Runtime, 'now'>;
  readonly guard: SuspensionGuard;
  alarm(wake: () => void): Alarm;
  readonly log: FencedLog;
  readonly transport: Transport<FromManager, ToManager>;
  /** A name for each campaign, unlike any other that ever was. */
  candidate(campaign: number): string;
  readonly watcher: ManagerWatcher;
}

export class ManagerDriver implements Disposable {
  readonly #options: ManagerDriverOptions;
  readonly #driver: Driver<ManagerEffect>;
  readonly #listening: Disposable;
  #campaigns = 0;
  #campaign: Disposable | undefined;
  #leadership: Leadership | undefined;
  #following: Following;
  #halted = false;
  #withdrawn = false;
  #over = false;

  constructor(options: ManagerDriverOptions) {
    const { core, clock, guard, transport, watcher } = options;
    this.#options = options;
    this.#driver = new Driver({
      ...{ core, clock, guard },
      alarm: (wake) => options.alarm(wake),
      execute: (effect) => this.#execute(effect),
      suspended: () => watcher.suspended?.(),
      afterInput: () => watcher.afterInput(),
    });
    this.#following = this.#follow();
    this.#listening = transport.listen((from, message) => {
      watcher.receives(from, message);
      // It could not answer, nor ever will: to remember the peers that ask would only fill its memory.
      if (message.kind === 'sync' && core.role === 'standby' && options.log.canBeFollowed === false) return;
      this.input((now) => core.receive(from, message, now));
    });
    this.#stand();
  }

  input(act: (now: Instant) => ManagerEffect[]): void {
    try {
      this.#driver.input(act);
    } catch (error) {
      // Nothing was changed by it, and nothing can be done without: the observer has to end this.
      if (!isUnreadableLog(error)) throw error;
      this.#options.watcher.unreadable(error);
    }
  }

  /** Gives up the leadership, and stands for it no more until {@link standAgain}; goes on following. */
  stepDown(): void {
    if (this.#over) return;
    this.#withdrawn = true;
    this.input((now) => this.#options.core.stepDown(now));
    if (this.#campaign !== undefined) this.#stand();
  }

  standAgain(): void {
    if (!this.#withdrawn || this.#over) return;
    this.#withdrawn = false;
    this.#stand();
  }

  /** Stops at once, as a crash would, but for the log, which is told that we no longer lead. */
  [Symbol.dispose](): void {
    this.#over = true;
    this.#driver.stop();
    this.#listening[Symbol.dispose]();
    this.#following[Symbol.dispose]();
    this.#campaign?.[Symbol.dispose]();
  }

  #execute(effect: ManagerEffect): void {
    const { core, transport, watcher } = this.#options;
    switch (effect.do) {
      case 'send':
        watcher.sends(effect.to, effect.message);
        transport.send(effect.to, effect.message);
        break;
      case 'append':
        watcher.writes(effect.bytes);
        this.#leadership?.append(effect, (outcome) => {
          this.input((now) =>
            outcome === 'appended' ? core.appended(effect.position, now) : core.refused(now),
          );
          watcher.wrote(outcome);
        });
        break;
      case 'compact':
        watcher.compacts();
        this.#leadership?.compact(effect.snapshot, effect.upTo);
        break;
      case 'ask-head':
        this.#following.askHead();
        break;
      case 'resign':
        this.#leadership = undefined;
        this.#stand();
        break;
      case 'halt':
        this.#halted = true;
        watcher.halted(effect.reason);
        this.#campaign?.[Symbol.dispose]();
        break;
      case 'trace':
        watcher.traced(effect.event);
        break;
      default:
        unreachable(effect);
    }
  }

  #follow(): Following {
    const { core, log } = this.#options;
    return log.follow({
      reset: (start) => this.input((now) => core.reset(start, now)),
      batch: (batch) => this.input((now) => core.followed(batch, now)),
      head: (position, askedAt) => this.input((now) => core.head(position, askedAt, now)),
    });
  }

  #stand(): void {
    const { core, log, candidate, watcher } = this.#options;
    this.#campaign?.[Symbol.dispose]();
    this.#following[Symbol.dispose]();
    this.#following = this.#follow();
    this.#campaign = undefined;
    if (this.#halted) return;
    core.standing();
    if (this.#withdrawn) return;
    this.#campaigns += 1;
    this.#campaign = log.campaign(candidate(this.#campaigns), {
      elected: (mine, until) => {
        this.#leadership = mine;
        watcher.elected();
        this.input((now) =>
          this.#leadership === mine ? core.elected(mine.term, mine.start, until, now) : [],
        );
      },
      extended: (until) => this.input((now) => core.extended(until, now)),
      deposed: (reason) => {
        this.#leadership = undefined;
        this.input((now) => core.deposed(reason, now));
        this.#stand();
      },
    });
  }
}
