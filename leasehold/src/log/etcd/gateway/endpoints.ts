/**
 * Which member is asked. One, for as long as it answers: changing without need would make a reader wait
 * for connections, and a watch and the requests that vouch for it would go to different members. When it
 * fails, the next, and that one stays. Each process begins at another, so that not all of them load the
 * first in the list.
 *
 * A watch cannot tell silence from a member that hangs. A request can: it is not answered in time. So
 * whoever watches at a member is told when a request there was not.
 */

import { present } from '../../../runtime/assert.ts';
import type { Troubles } from '../troubles.ts';

export class Endpoints {
  readonly all: readonly string[];
  readonly #troubles: Troubles;
  readonly #watching = new Set<{ readonly endpoint: string; readonly onSilence: () => void }>();
  #current: number;

  /** @param random in [0, 1) */
  constructor(all: readonly string[], troubles: Troubles, random: number) {
    this.all = all;
    this.#troubles = troubles;
    this.#current = Math.floor(random * all.length);
  }

  get current(): string {
    return present(this.all[this.#current], 'at least one endpoint');
  }

  /** All of them, in the order in which to try. */
  inOrder(): readonly string[] {
    return [...this.all.slice(this.#current), ...this.all.slice(0, this.#current)];
  }

  answered(endpoint: string): void {
    this.#troubles.over(trouble(endpoint));
  }

  /** The next one is asked from now on, unless somebody has seen to that already. */
  failed(endpoint: string, why: string): void {
    if (this.current === endpoint) this.#current = (this.#current + 1) % this.all.length;
    const next = this.current === endpoint ? undefined : this.current;
    this.#troubles.met(trouble(endpoint), { why, next });
  }

  /** It has failed by not answering. */
  silent(endpoint: string, why: string): void {
    this.failed(endpoint, why);
    for (const watch of [...this.#watching]) if (watch.endpoint === endpoint) watch.onSilence();
  }

  onSilence(endpoint: string, onSilence: () => void): Disposable {
    const watch = { endpoint, onSilence };
    this.#watching.add(watch);
    return { [Symbol.dispose]: () => void this.#watching.delete(watch) };
  }
}

const trouble = (endpoint: string): string => `etcd member ${endpoint} fails`;
