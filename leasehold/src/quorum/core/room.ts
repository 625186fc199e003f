/**
 * The members with room on their disks, as far as is known here: those can vote. Nothing is written unless a majority of all members has room.
 *
 * A replica with a full disk can accept nothing and promise no ballot, but goes on to hear and to speak. If that replica held keys, every
 * write of those keys would wait for the replica. So (L7) the replica releases its leases at once, asks for none until there is room, and
 * stands in no election. Instead of asking, the replica says `release` again every `renewEveryMs`: a lost one is made up for, and the others
 * know why nothing is heard.
 *
 * The words of the others are hints. They decide whether a caller is told at once that no majority has room, and which member a full leader hands over to. A write that
 * was refused for a wrong hint was not done, and is repeated; a write that was taken waits until there is room.
 */

import { type Instant, instant, later } from '../../runtime/time.ts';
import { type Configuration, isQuorumOfEach } from './configuration.ts';

/** A word about a full disk counts for so many periods in which the word should have been repeated. */
const PERIODS = 3;

const NEVER = instant(Number.NEGATIVE_INFINITY);

export class Room {
  /** The disk of this replica is full: a frame could not be written, and none has been since. */
  isFull = false;
  readonly #self: string;
  readonly #periodMs: number;
  readonly #fullUntil = new Map<string, Instant>();

  constructor(self: string, renewEveryMs: number) {
    this.#self = self;
    this.#periodMs = PERIODS * renewEveryMs;
  }

  /** A member says that the disk there is full, or that it is not. */
  hear(storage: string, isFull: boolean, now: Instant): void {
    if (isFull) this.#fullUntil.set(storage, later(now, this.#periodMs));
    else this.#fullUntil.delete(storage);
  }

  isFullAt(storage: string, now: Instant): boolean {
    return storage === this.#self ? this.isFull : (this.#fullUntil.get(storage) ?? NEVER) > now;
  }

  /** Whether the members with room could decide something. */
  isEnough(counting: readonly Configuration[], now: Instant): boolean {
    return isQuorumOfEach(counting, (storage) => !this.isFullAt(storage, now));
  }
}
