/**
 * Which member is asked. One, for as long as that member answers: changing without need would make a reader wait for
 * connections, and a watch and the requests that vouch for the watch would go to different members. When the member
 * fails, the next, and that one stays. Each process begins at another, so that not all of them load the first in the
 * list.
 *
 * A watch cannot tell silence from a member that hangs. A request can: there is no answer in time. So a watch at a
 * member is told when a request there got no answer.
 */

import { present } from '../../runtime/assert.ts';
import type { EpisodeLog } from '../../runtime/episode-log.ts';

export class Endpoints {
  readonly all: readonly string[];
  readonly #episodes: EpisodeLog;
  readonly #watching = new Set<{ readonly endpoint: string; readonly onSilence: () => void }>();
  #current: number;

  /** @param random in [0, 1) */
  constructor(all: readonly string[], episodes: EpisodeLog, random: number) {
    this.all = all;
    this.#episodes = episodes;
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
    this.#episodes.over(trouble(endpoint));
  }

  /** The next one is asked from now on, unless somebody has seen to that already. */
  failed(endpoint: string, why: string): void {
    if (this.current === endpoint) this.#current = (this.#current + 1) % this.all.length;
    const next = this.current === endpoint ? undefined : this.current;
    this.#episodes.met(trouble(endpoint), { why, next });
  }

  /** The member has failed by not answering. */
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
