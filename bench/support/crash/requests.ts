/** What a front end does: asks an owner about keys over HTTP, on a connection that is there already. */

import { Agent, request } from 'node:http';

export class Requests implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, noDelay: true });

  /** The numbers under which it may act for these keys; nothing at all if it cannot be reached. */
  numbers(url: string, keys: readonly string[]): Promise<readonly (number | null)[]> {
    return new Promise((resolve) => {
      const nobody = (): void => resolve([]);
      const asking = request(url, { method: 'POST', agent: this.#agent, timeout: 5_000 }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => resolve(JSON.parse(text) as (number | null)[]));
        response.on('error', nobody);
      });
      asking.on('timeout', () => asking.destroy());
      asking.on('error', nobody);
      asking.end(JSON.stringify(keys));
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}
