/**
 * State by key that moves with its keys: what the library asks of it.
 *
 * The source of a move reads a snapshot while the keys are served and notes what changes meanwhile; the last changes are read in the very turn in which
 * the keys stop being served. The target collects items in a stage that no reader sees, and shows all of it in the turn of the grant. So a
 * reader sees the state of one owner or of the next, and never half of it.
 */

import type { RangeSet } from '../../../runtime/keys/range-set.ts';

/** State by key, kept by the application. None of these functions may change keys outside `keys`. */
export interface Movable<Item> {
  /** All items of these keys, in batches. From this call on changes are noted, before the first item is read. If it throws, the keys stay. */
  snapshot(keys: RangeSet, signal: AbortSignal): AsyncIterable<readonly Item[]>;
  /** The items touched since `snapshot` or the last call, deletions too, the last touched last. Synchronous, because the last call is made in the stop. */
  changes(keys: RangeSet): readonly Item[];
  /** Once for each snapshot. `moved`: another owner has these keys, forget them. Otherwise they stay, and changes need not be noted any more. */
  done(keys: RangeSet, moved: boolean): void;
  /** A place for arriving items, which no reader sees before `commit`. */
  stage(keys: RangeSet): Stage<Item>;
  /**
   * The form of the items. Keys move only to an owner that reads it.
   *
   * @default 1
   */
  readonly version?: number | undefined;
  /**
   * Older forms that `stage` reads.
   *
   * @default none
   */
  readonly reads?: readonly number[] | undefined;
  /** @default structured clone; an item that would not arrive as it left (a class instance, a function) is refused, and the keys stay */
  readonly codec?: ItemCodec<Item> | undefined;
}

/** Items on their way in. */
export interface Stage<Item> {
  /** In order; a later item of a key replaces an earlier one. The source goes on when this resolves. If it throws, the keys stay at the source. */
  add(items: readonly Item[]): Promise<void> | void;
  /** These keys are this owner's now, under this number. Synchronous; once for each number, all in one turn; keys that no call names do not come. */
  commit(keys: RangeSet, number: number): void;
  /** The keys will not come. */
  discard(): void;
}

/** Items as bytes. */
export interface ItemCodec<Item> {
  encode(item: Item): Uint8Array;
  decode(bytes: Uint8Array): Item;
}
