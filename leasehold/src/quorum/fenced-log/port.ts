/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The replica in the same process, as the fenced log uses it: the key-value interface of every client, a watch, and the two
 * things that only a user in the replica's own process can have. A claim says how long a written value stays; `mayStand`
 * says whether the replica, as the leader of its cell, has lost sight of another one.
 *
 * A call may be answered from within. Every call is answered once, or never if the process ends.
 */

import type { Instant } from '../../runtime/time.ts';
import type { Answer } from '../core/answer.ts';
import type { ClaimEnd } from '../core/context.ts';
import type { Revision } from '../core/operation.ts';
import type { Submission } from '../core/replica.ts';
import type { Found } from '../core/result.ts';

export interface ClaimEvents {
  /** The value keeps its revision until then. */
  extended(until: Instant): void;
  /** Comes once, last, before any other replica can know of another value. */
  ended(why: ClaimEnd): void;
}

export interface WatchEvents {
  /** All values of the range as of a slot: at the beginning, and after changes that nobody here has seen. */
  whole(found: readonly Found[], slot: number): void;
  /** The changed values of a slot; without a value, the key was deleted. Slots come in order, none is left out. */
  changed(found: readonly Found[], slot: number): void;
}

export interface LogPort {
  /** The storage id of the replica: which directory this is. */
  readonly storage: string;
  submit(submission: Submission, answered: (answer: Answer) => void): void;
  read(key: string, answered: (answer: Answer) => void): void;
  /** Of all keys that begin with the prefix. */
  watch(prefix: string, events: WatchEvents): Disposable;
  claim(key: string, revision: Revision, events: ClaimEvents): Disposable;
  /** Whether this replica may read the key by itself at present and, if another replica is named, leads without that one. */
  mayStand(key: string, against: string | undefined): boolean;
}
