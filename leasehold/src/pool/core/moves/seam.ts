/**
 * The seam between the core of an owner that moves keys and the shell that carries the state: what the core tells, and what the
 * shell answers.
 *
 * The core decides when; the shell does the work. A *ticket* names one move of one span of keys, from the owner that holds the
 * span under `number` to another owner. The rules, by number, are in `docs/design/moves.md`.
 *
 *     source    core   stream ──►        stop ──►         freeze ──►                        handed ──►   departed
 *               shell           caughtUp ──►   stopped ──►       sealed ──► acknowledged ──►
 *     target    core   receive ──►                                         commit ──► arriving ──►
 *               shell            (frames of the source)       staged ──►                       loaded ──►
 *
 * `abandon` ends the source's half at any place before `handed`, and `returned` after it; `discard` ends the target's half before `commit`.
 *
 * Three things have to happen in the very turn in which the core tells them, because checks pass before and not after, or the
 * other way round: `freeze` takes the last changes, `commit` shows the imported state, and `departed` and `discard` hide it. The shell hands
 * an input over by `Owner.hearMove`, with the present instant, and executes the effects in order like all effects of the core.
 *
 * The shell may say an input twice or too late: the core ignores an input of a ticket that is over, or that does not fit the phase.
 */

import type { Span } from '../../../runtime/keys/range.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { NumberedSpan } from '../messages.ts';

/** Keys that arrive, with the ticket by which they arrive. */
export interface ArrivedSpan extends NumberedSpan {
  readonly ticket: string;
}

/** What the core of an owner tells the shell. Ticket ids are unlike any other, in all terms and processes. */
export type MoveEffect =
  /** Source: note changes from now on, read a snapshot of these keys, and send both to the target until little is left. The keys are served. */
  | {
      readonly do: 'stream';
      readonly ticket: string;
      readonly span: Span;
      readonly number: number;
      /** The incarnation that has to prove itself at the address. */
      readonly to: string;
      /** Its name, of which it has to show a grant where grants are asked for. */
      readonly toName: string;
      readonly address: string;
    }
  /**
   * Source: let no new guarded work begin on these keys, wait for guarded work under way, then call `onDepart`, and answer `stopped`;
   * or `stopFailed`, if `onDepart` fails. Checks still pass. If neither is said by then, the core tells `resume`, or `abandon` after the last stop.
   */
  | {
      readonly do: 'stop';
      readonly ticket: string;
      readonly by: Instant;
      /** No other stop follows: abort `held.signal` at once, and call `onDepart` in time although work is under way. */
      readonly isLast: boolean;
    }
  /** Source: the stop took too long. Guarded work goes on; stream what changes, and say `caughtUp` again. */
  | { readonly do: 'resume'; readonly ticket: string }
  /** Source, in this turn: take the last changes and send them as the last frame, then answer `sealed` with the digest of everything. */
  | { readonly do: 'freeze'; readonly ticket: string }
  /** Source: the target has everything. Keep the memory, serve nothing of it: `departed` or `returned` follows. The stream can be closed. */
  | { readonly do: 'handed'; readonly ticket: string }
  /** Source: stop streaming, and note changes no longer. Keys that are still held are served on; guarded work that waited goes on. */
  | { readonly do: 'abandon'; readonly ticket: string; readonly why: string }
  /** Target: take frames of this ticket from this incarnation, and from no other, into a stage that no reader sees. */
  | {
      readonly do: 'receive';
      readonly ticket: string;
      readonly span: Span;
      readonly number: number;
      readonly from: string;
      /** Its name, of which it has to show a grant where grants are asked for. */
      readonly fromName: string;
    }
  /** Target, in this turn: what was staged for these keys is the state of this owner now. Of the stage, other keys are dropped. */
  | { readonly do: 'commit'; readonly ticket: string; readonly spans: readonly NumberedSpan[] }
  /** Target: the keys will not come by this ticket. Drop the stage, and refuse further frames. */
  | { readonly do: 'discard'; readonly ticket: string }
  /** Target: call `onArrive`, then `Owner.loaded`. Told again under a later number if the lease lapsed meanwhile. */
  | { readonly do: 'arriving'; readonly spans: readonly NumberedSpan[] }
  /** Source, in this turn: another owner has these keys. Forget them; nothing was lost. */
  | { readonly do: 'departed'; readonly spans: readonly NumberedSpan[] }
  /** Source: keys that were handed are this owner's again, under a number that continues the earlier one. They are served at once. */
  | { readonly do: 'returned'; readonly spans: readonly NumberedSpan[] };

/** What the shell answers. */
export type MoveInput =
  /** Source: the snapshot was sent and acknowledged, and so little has changed since that a short stop will do. */
  | { readonly is: 'caughtUp'; readonly ticket: string }
  /** Source: no guarded work is under way any more, and `onDepart` is done. */
  | { readonly is: 'stopped'; readonly ticket: string }
  /** Source: `onDepart` failed, so the next owner would read an old store. */
  | { readonly is: 'stopFailed'; readonly ticket: string; readonly why: string }
  /** Source: the last frame, made in the turn of `freeze`, is on its way; the digest is that of all frames of this attempt. */
  | { readonly is: 'sealed'; readonly ticket: string; readonly digest: string }
  /** Source: the target says that it has staged everything, with this digest. */
  | { readonly is: 'acknowledged'; readonly ticket: string; readonly digest: string }
  /** Source: the stream cannot go on: the target refuses, three attempts failed, an item cannot travel, no progress for `stallTimeoutMs`. */
  | { readonly is: 'failed'; readonly ticket: string; readonly why: string }
  /** Source: so many bytes were sent so far; goes into the next report. */
  | { readonly is: 'sent'; readonly ticket: string; readonly bytes: number }
  /** Target: everything is staged, up to the source's last frame, with this digest. */
  | { readonly is: 'staged'; readonly ticket: string; readonly digest: string }
  /** Target: the stage was dropped (no room, an error, another attempt): what `staged` said is true no longer. */
  | { readonly is: 'unstaged'; readonly ticket: string };

/** What an owner needs to know about moves, beside the durations that its Manager says. */
export interface MoveSettings {
  /** The longest stop of a range before the owner serves on and tries again; the last stop of a drain has `revokeTimeoutMs`. */
  readonly stopTimeoutMs: number;
  /** How long a frozen range waits for the acknowledgement of the target. */
  readonly ackTimeoutMs: number;
}

/** A form of state that moves by name. A target needs each name of the source, in a form that it reads. */
export interface MovableName {
  readonly name: string;
  readonly version: number;
  /** Older versions that this owner reads, beside its own. */
  readonly reads: readonly number[];
}

/** Where an owner can be sent state, and which. An owner that moves nothing has none. The shell sets it as `Owner.transfer`. */
export interface Transfer {
  readonly address: string;
  readonly names: readonly MovableName[];
}

export const DEFAULT_MOVE_SETTINGS: MoveSettings = { stopTimeoutMs: 100, ackTimeoutMs: 250 };
