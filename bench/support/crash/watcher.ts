/**
 * Look-ups that remember what they were told, and when.
 *
 * A look-up is told of a crash when it has been told of the loss of every key in question and points
 * each of them to somebody who is not the dead: only then does a front end know that it has to publish
 * again, and where to.
 */

import { type Loss, connectLookup, type PoolLookup } from 'leasehold/pool';
import { nowMs } from '../processes/conversation.ts';

interface Awaited {
  readonly keys: readonly string[];
  readonly dead: string;
  readonly told: (atMs: number) => void;
}

/** A look-up may speak before there is somebody to hear it. */
interface Ears {
  loss: (loss: Loss) => void;
  change: () => void;
}

/** Until the look-up is closed. */
async function listen(lookup: PoolLookup, ears: Ears): Promise<void> {
  for await (const _ of lookup.watch()) ears.change();
}
export class Watcher implements AsyncDisposable {
  readonly lookup: PoolLookup;
  readonly #lost = new Set<string>();
  readonly #keys: readonly string[];
  #awaited: Awaited | undefined;

  private constructor(lookup: PoolLookup, keys: readonly string[], ears: Ears) {
    this.lookup = lookup;
    this.#keys = keys;
    ears.loss = (loss) => this.#losing(loss);
    ears.change = () => this.#look();
  }

  static async open(managers: readonly string[], keys: readonly string[]): Promise<Watcher> {
    const ears: Ears = { loss: () => {}, change: () => {} };
    const lookup = await connectLookup({
      ...{ pool: 'crash', managers },
      onLoss: (loss) => ears.loss(loss),
    });
    void listen(lookup, ears);
    return new Watcher(lookup, keys, ears);
  }

  /** Resolves with the instant at which it has been told of all this. Call it before the kill. */
  told(keys: readonly string[], dead: string): Promise<number> {
    this.#lost.clear();
    return new Promise((resolve) => {
      this.#awaited = { keys, dead, told: resolve };
    });
  }

  /** Who has the key, unless it is the dead one. */
  successor(key: string, dead: string): string | undefined {
    const found = this.lookup.find(key);
    return found?.incarnation === dead ? undefined : found?.url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lookup.close();
  }

  #losing(loss: Loss): void {
    for (const key of this.#keys) if (loss.has(key)) this.#lost.add(key);
    this.#look();
  }

  #look(): void {
    if (this.#awaited === undefined) return;
    const { keys, dead, told } = this.#awaited;
    if (!keys.every((key) => this.#lost.has(key) && this.successor(key, dead) !== undefined)) return;
    this.#awaited = undefined;
    told(nowMs());
  }
}
