/** What an application keeps by itself, beside leased maps, and moves with its keys: an item for each key. */

import type { Hash } from '../../../runtime/keys/position.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { ItemCodec, Movable, Stage } from '../../shell/state/movable.ts';

/** A key by its position, and its version; null: deleted. */
type Entry = readonly [position: string, version: number | null];

const codec: ItemCodec<Entry> = {
  encode: (entry) => Buffer.from(JSON.stringify(entry)),
  decode: (bytes) => JSON.parse(Buffer.from(bytes).toString()) as Entry,
};

export class Items implements Movable<Entry> {
  readonly codec: ItemCodec<Entry> = codec;
  /** Told when another owner has keys. */
  onMoved: ((keys: RangeSet) => void) | undefined;
  readonly #versions = new Map<Hash, number>();
  /** Of each move under way, what was touched since it was last asked. */
  readonly #touched = new Set<{ readonly keys: RangeSet; readonly positions: Set<Hash> }>();

  get(position: Hash): number | undefined {
    return this.#versions.get(position);
  }

  set(position: Hash, version: number | undefined): void {
    if (version === undefined) this.#versions.delete(position);
    else this.#versions.set(position, version);
    for (const { keys, positions } of this.#touched) if (keys.has(position)) positions.add(position);
  }

  forget(keys: RangeSet): void {
    for (const position of [...this.#versions.keys()])
      if (keys.has(position)) this.#versions.delete(position);
  }

  snapshot(keys: RangeSet): AsyncIterable<readonly Entry[]> {
    this.#touched.add({ keys, positions: new Set() }); // Before the first item is read.
    return this.#read(keys);
  }

  async *#read(keys: RangeSet): AsyncIterable<readonly Entry[]> {
    for (const [position, version] of [...this.#versions])
      if (keys.has(position)) yield [[String(position), this.#versions.get(position) ?? version]];
  }

  changes(keys: RangeSet): readonly Entry[] {
    const entries: Entry[] = [];
    for (const { positions } of this.#touched)
      for (const position of [...positions]) {
        if (!keys.has(position)) continue;
        positions.delete(position);
        entries.push([String(position), this.#versions.get(position) ?? null]);
      }
    return entries;
  }

  done(keys: RangeSet, moved: boolean): void {
    for (const noted of this.#touched) if (!noted.keys.intersect(keys).isEmpty) this.#touched.delete(noted);
    if (!moved) return;
    this.forget(keys);
    this.onMoved?.(keys);
  }

  stage(_: RangeSet): Stage<Entry> {
    const staged = new Map<Hash, number | undefined>();
    return {
      add: (entries) => {
        for (const [position, version] of entries) staged.set(BigInt(position), version ?? undefined);
      },
      commit: (keys) => {
        this.forget(keys);
        for (const [position, version] of staged) if (keys.has(position)) this.set(position, version);
      },
      discard: () => staged.clear(),
    };
  }
}
