/**
 * Polls for the holder of a resource. No member could push changes: a holder does not know the observers, and a
 * majority has to be asked anyway. So a change is seen with a delay, and a change that was undone between two polls is
 * never seen.
 */

import { unlessAborted } from '../../runtime/on-abort.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { isNoMajority, type NoMajority } from '../core/errors.ts';
import { pause } from '../../runtime/pause.ts';

/** The member that holds a lease. */
export interface Holder {
  readonly holder: string;
  readonly number: number;
  /** When the lease expires unless renewed: milliseconds since 1970, by the group's clock. */
  readonly validUntil: number;
}

/** The holder, undefined if the lease is free; or why the holder is unknown. */
export type Look = { readonly holder: Holder | undefined } | { readonly error: NoMajority };

export interface Looking {
  readonly runtime: Runtime;
  readonly leaseMs: number;
  /** @throws {UnavailableError} `NO_MAJORITY` if nobody knows */
  ask(): Promise<Holder | undefined>;
  /** Ends the generator, with the signal's reason. */
  readonly signal: AbortSignal | undefined;
}

/**
 * How often to poll during the time of one lease: while the lease is free or the holder unknown, and while the lease
 * is held.
 */
const LOOKS_WHILE_FREE = 10;
const LOOKS_WHILE_HELD = 4;

/**
 * The result of each poll, also when equal to the result before.
 *
 * @throws the signal's reason, when the signal aborts; and every other error of `ask`
 */
export async function* looking({
  runtime,
  leaseMs,
  ask,
  signal,
}: Looking): AsyncGenerator<Look, never, void> {
  for (;;) {
    const look = await unlessAborted(asked(ask), signal);
    yield look;
    const isHeld = 'holder' in look && look.holder !== undefined;
    await pause(runtime, leaseMs / (isHeld ? LOOKS_WHILE_HELD : LOOKS_WHILE_FREE), signal);
  }
}

async function asked(ask: Looking['ask']): Promise<Look> {
  try {
    return { holder: await ask() };
  } catch (error) {
    if (isNoMajority(error)) return { error };
    throw error;
  }
}

export const isSameHolder = (one: Holder | undefined, other: Holder | undefined): boolean =>
  one?.holder === other?.holder && one?.number === other?.number;
