/**
 * What carries the state of keys between owners, as the shell of an owner sees it. `core/moves/seam.ts` tells when; the carrier does the streaming and the
 * staging; the shell (`moving-keys.ts`) stops guarded work and calls the application.
 */

import type { MovableName, MoveEffect } from '../../core/moves/seam.ts';
import type { Movable } from '../state/movable.ts';

/** The effects that a carrier executes, in the turn in which the core tells them. It ignores a ticket that it does not know. */
export type CarrierEffect = Extract<
  MoveEffect,
  {
    do:
      | 'stream'
      | 'resume'
      | 'freeze'
      | 'handed'
      | 'abandon'
      | 'receive'
      | 'commit'
      | 'discard'
      | 'departed'
      | 'returned';
  }
>;

/** How much was carried since the process began, for progress and metrics. */
export interface Carried {
  readonly items: number;
  readonly bytes: number;
}

/** It answers by `say(input: MoveInput)`, which it is constructed with; always in a later turn than `execute`, but for `sealed`. */
export interface KeyCarrier extends AsyncDisposable {
  /** Where other owners bring state, as `host:port`. */
  readonly address: string;
  readonly names: readonly MovableName[];
  readonly sent: Carried;
  readonly received: Carried;
  /** @throws {InvalidArgumentError} if the name is in use */
  movable<Item>(name: string, state: Movable<Item>): void;
  execute(effect: CarrierEffect): void;
}
