/** A load on a quorum cell whose every call is written down with its outcome, for the linearizability checker. */

import type { QuorumClient } from '../../leasehold/src/quorum/index.ts';
import { isCoded } from '../../leasehold/src/runtime/errors.ts';
import {
  checkLinearizable,
  History,
  registerModel,
  type RegisterInput,
  type RegisterOutput,
} from '../../leasehold/src/sim/linearizability.ts';
import type { QuorumCell } from './quorum-cell.ts';
import { nowMs, pause } from './time.ts';

const KEYS = ['k1', 'k2', 'k3', 'k4'];
const TIMEOUT_MS = 20_000;

export const text = (value: Uint8Array | undefined): string | null =>
  value === undefined ? null : new TextDecoder().decode(value);

/** Reads, writes and compares at chance, and writes down each call with its outcome. */
export class QuorumLoad {
  readonly history: History<RegisterInput<string | null>, RegisterOutput<string | null>> = new History();
  readonly served: Record<string, number> = {};
  done = 0;
  isOver = false;
  #values = 0;

  async lane(name: string, connecting: ReturnType<QuorumCell['client']>): Promise<void> {
    const client = await connecting;
    while (!this.isOver) {
      const key = KEYS[Math.floor(Math.random() * KEYS.length)] as string;
      await this.#one(name, key, client).catch((error: unknown) => {
        if (!isCoded(error)) throw error; // A typed error leaves the outcome unknown, which the history says already.
      });
      await pause(2);
    }
  }

  async #one(name: string, key: string, client: QuorumClient): Promise<void> {
    this.#values += 1;
    const value = `${name}.${this.#values}`;
    const options = { timeoutMs: TIMEOUT_MS };
    const dice = Math.random();
    if (dice < 0.5) {
      const returned = this.history.call(name, key, { do: 'read' }, nowMs());
      const found = await client.get(key, options);
      returned({ did: 'read', value: text(found.value) }, nowMs());
      this.served[found.served] = (this.served[found.served] ?? 0) + 1;
    } else if (dice < 0.8) {
      const returned = this.history.call(name, key, { do: 'write', value }, nowMs());
      await client.put(key, value, options);
      returned({ did: 'write' }, nowMs());
    } else {
      const expected = text((await client.get(key, { ...options, mode: 'weak' })).value);
      const condition = expected === null ? 'absent' : { value: expected };
      const returned = this.history.call(name, key, { do: 'compare-and-set', expected, value }, nowMs());
      const { isDone } = await client.compareAndSet(key, condition, value, options);
      returned({ did: 'compare-and-set', set: isDone }, nowMs());
    }
    this.done += 1;
  }

  /** Whether all that was answered fits into one order. */
  verdict(): ReturnType<typeof checkLinearizable> {
    return checkLinearizable(this.history.operations, registerModel<string | null>(null));
  }
}
