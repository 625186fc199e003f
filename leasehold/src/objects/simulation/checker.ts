/**
 * The promises of calls, as code. The checker sees every run at every owner, and every end at every caller.
 *
 *     once      a call changes kept state at most once, whatever is repeated, moved, lost or late; and an answer is that run's
 *     told      a call that failed was not and is not run; an unknown outcome comes only after a loss, a dropped result or the end of its time
 *     half      an object that arrives at its next owner is as it was between two turns
 *     cycle     a call to a position whose turn waits for it is refused
 *     settles   when faults stop, every call ends, and a new call is answered
 */

import type { CallEnd } from '../core/caller.ts';
import type { World } from '../../sim/world.ts';

export const PROMISES: readonly string[] = ['once', 'told', 'half', 'cycle', 'settles'];

/** A call, as the world knows it. */
export interface KnownCall {
  readonly id: string;
  readonly position: bigint;
  readonly isRead: boolean;
  /** The lease number of the position that the caller knew of when the call was made. */
  readonly knownNumber: number;
  /** Where the run that counts has left it. */
  result: number | undefined;
  /** The caller was told that nothing was done. */
  hasFailed: boolean;
}

export class Checker {
  readonly #world: World;
  /** Whether results may be dropped before their callers have them. */
  readonly #mayForget: boolean;
  /** The lease number under which the position last lost its state. */
  readonly #lostAt = new Map<bigint, number>();

  constructor(world: World, mayForget: boolean) {
    this.#world = world;
    this.#mayForget = mayForget;
  }

  lost(position: bigint, number: number): void {
    this.#lostAt.set(position, number);
  }

  /** A turn has ended on memory that counts. */
  ran(call: KnownCall, result: number): void {
    if (call.isRead) return;
    if (call.result !== undefined)
      throw this.#world.broken('once', `${call.id} ran twice: with ${call.result}, then with ${result}`);
    if (call.hasFailed)
      throw this.#world.broken('told', `${call.id} ran after its caller was told that it did not`);
    call.result = result;
  }

  arrived(begun: number, ended: number): void {
    if (begun !== ended)
      throw this.#world.broken('half', `an object arrived with ${begun} turns begun and ${ended} ended`);
  }

  ended(call: KnownCall, end: CallEnd, value: number | undefined): void {
    this.#world.count(end.is === 'answered' ? 'answered' : `${end.is}, ${end.why}`);
    if (call.isRead) return;
    if (end.is === 'answered') {
      if (value !== call.result)
        throw this.#world.broken(
          'once',
          `${call.id} was answered with ${value}, but its run gave ${call.result}`,
        );
    } else if (end.is === 'failed') {
      call.hasFailed = true;
      if (call.result !== undefined)
        throw this.#world.broken('told', `${call.id} failed (${end.why}), but it ran`);
    } else if (!this.#isExcused(call, end.why))
      throw this.#world.broken('told', `the outcome of ${call.id} is unknown (${end.why}) without a reason`);
  }

  #isExcused(call: KnownCall, why: string): boolean {
    if (why === 'lost') return (this.#lostAt.get(call.position) ?? 0) > call.knownNumber;
    return why === 'forgotten' ? this.#mayForget : true;
  }
}
