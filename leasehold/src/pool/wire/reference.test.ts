/**
 * `docs/lookup.py` was written from `docs/protocol.md`, in another language and without a library. Here that program
 * talks to our side over a real connection: if the two understand each other, the document is enough.
 */

import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { nodeRuntime } from '../../node/runtime.ts';
import { listenTcp, type TcpListener } from '../../node/tcp/listen.ts';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import { silent } from '../../runtime/logger.ts';
import type { Changes, FromManager, Sync, ToGate } from '../core/messages.ts';
import { managerCodec, POOL_PROTOCOL } from './codec.ts';
import { snapshot } from './samples.ts';

const SCRIPT = fileURLToPath(new URL('../../../../docs/lookup.py', import.meta.url));
const hasPython = spawnSync('python3', ['--version']).status === 0;

const TOP = (RING_SIZE / 4n) * 3n;
const loss: Changes = {
  ...snapshot,
  from: 70_000,
  to: 70_001,
  rows: [
    {
      start: TOP,
      end: RING_SIZE,
      owner: { incarnation: 'b.1', name: 'b', url: 'http://b' },
      number: 70_001,
      lostAt: 70_001,
    },
  ],
};

/** The look-up as a process; the test plays the Manager. */
class Conversation implements AsyncDisposable {
  readonly #listener: TcpListener<FromManager, ToGate>;
  readonly #child: ReturnType<typeof spawn>;
  readonly #lines: AsyncIterator<string>;
  readonly #syncs: { readonly from: string; readonly sync: Sync }[] = [];
  #arrived: () => void = () => {};
  #peer = '';

  constructor(listener: TcpListener<FromManager, ToGate>, key: string) {
    this.#listener = listener;
    listener.listen((from, message) => {
      if (message.kind === 'sync') this.#syncs.push({ from, sync: message });
      this.#arrived();
    });
    const { host, port } = listener;
    this.#child = spawn('python3', ['-B', SCRIPT, host, String(port), 'presence', key], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (this.#child.stdout === null) throw new Error('no output');
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  static async begin(key: string): Promise<Conversation> {
    const listener = await listenTcp({
      host: '127.0.0.1',
      port: 0,
      codec: managerCodec,
      protocol: POOL_PROTOCOL,
      runtime: nodeRuntime(),
      logger: silent,
    });
    return new Conversation(listener, key);
  }

  /** The look-up's next message. */
  async said(): Promise<unknown> {
    const { value, done } = await this.#lines.next();
    return done ? undefined : JSON.parse(value);
  }

  /** The next sync, with no time limit. */
  async asked(): Promise<Sync> {
    for (;;) {
      const next = this.#syncs.shift();
      if (next !== undefined) {
        this.#peer = next.from;
        return next.sync;
      }
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
  }

  tell(message: FromManager): void {
    this.#listener.send(this.#peer, message);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.#listener[Symbol.asyncDispose]();
  }
}

const answering = ({ lookup, sequence }: Sync, changes: Changes): Changes => ({
  ...changes,
  answers: { lookup, sequence },
});

describe('a look-up that was written from the document', () => {
  it('finds keys, hears of losses and gaps, and starts over with a new history', async (context) => {
    if (!hasPython) context.skip('NOT TESTED: there is no python3 here, so docs/lookup.py was not run');
    await using talk = await Conversation.begin('alice');
    expect(await talk.said()).toEqual({ what: 'welcome', version: 3 });

    const first = await talk.asked();
    expect(first).toMatchObject({ pool: 'presence', seen: undefined });
    talk.tell(answering(first, snapshot));
    const alice = { what: 'at', key: 'dca083e964928c4a' };
    expect(await talk.said()).toEqual({ ...alice, position: 70_000, rows: 3, url: 'http://a', number: 310 });

    talk.tell(loss);
    expect(await talk.said()).toEqual({ what: 'lost', start: 'c000000000000000', end: '0000000000000000' });
    expect(await talk.said()).toEqual({
      ...{ ...alice, position: 70_001, rows: 4 },
      ...{ url: 'http://b', number: 70_001 },
    });

    talk.tell({ ...loss, from: 70_005, to: 70_006 });
    const third = await talk.asked();
    expect(third.seen).toEqual({ history: 'h', term: 2, position: 70_001, stamp: snapshot.stamp });

    talk.tell(answering(third, { ...snapshot, history: 'another', term: 1, to: 12 }));
    expect(await talk.said()).toEqual({ what: 'lost', everything: true });
    expect(await talk.said()).toMatchObject({ ...alice, position: 12, rows: 3, url: 'http://a' });
  }, 30_000);
});
