/**
 * Looks again and again who has a resource. There is nobody who would tell: whoever holds a lease does not know who
 * is interested, and a majority has to be asked anyway. So a change is seen some time after it came about, and one
 * that was undone in between not at all.
 */

import { unlessAborted } from '../../runtime/on-abort.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { NoMajorityError } from '../errors.ts';
import { pause } from './pause.ts';

/** Who has a lease. */
export interface Holder {
  readonly holder: string;
  readonly number: number;
  /** Until when, if it is not renewed: milliseconds since 1970, by the group's clock. */
  readonly validUntil: number;
}

/** Who has it, undefined for nobody; or why that is not known. */
export type Look = { readonly holder: Holder | undefined } | { readonly error: NoMajorityError };

export interface Looking {
  readonly runtime: Runtime;
  readonly leaseMs: number;
  /** @throws {NoMajorityError} if nobody knows */
  ask(): Promise<Holder | undefined>;
  /** Ends it, with its reason. */
  readonly signal: AbortSignal | undefined;
}

/** How often it looks, within a lease: while nobody has it or nobody knows, and while somebody does. */
const LOOKS_WHILE_FREE = 10;
const LOOKS_WHILE_HELD = 4;

/**
 * What it finds each time, whether or not that is the same as before.
 *
 * @throws the signal's reason, when it aborts; and whatever else asking throws
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
    if (error instanceof NoMajorityError) return { error };
    throw error;
  }
}

export const isSameHolder = (one: Holder | undefined, other: Holder | undefined): boolean =>
  one?.holder === other?.holder && one?.number === other?.number;
