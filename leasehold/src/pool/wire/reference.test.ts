/**
 * `docs/lookup.py` was written from `docs/protocol.md`, in another language and without a library. Here that program
 * talks to our side over a real connection: if the two understand each other, the document is enough.
 */

import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readGrants } from '../../node/identity/grants.ts';
import { newKeyPair } from '../../node/identity/keys.ts';
import { makeToken, readToken } from '../../node/identity/token.ts';
import { secureSocketsOf } from '../../node/mesh/tls-option.ts';
import type { ListenSockets } from '../../node/tcp/sockets.ts';
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
  complaint = '';
  #arrived: () => void = () => {};
  #peer = '';

  constructor(listener: TcpListener<FromManager, ToGate>, key: string, files: readonly string[]) {
    this.#listener = listener;
    listener.listen((from, message) => {
      if (message.kind === 'sync') this.#syncs.push({ from, sync: message });
      this.#arrived();
    });
    const { host, port } = listener;
    this.#child = spawn('python3', ['-B', SCRIPT, host, String(port), 'presence', key, ...files], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (this.#child.stdout === null) throw new Error('no output');
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.complaint += text;
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  static async begin(
    key: string,
    secure?: ListenSockets,
    files: readonly string[] = [],
  ): Promise<Conversation> {
    const listener = await listenTcp({
      host: '127.0.0.1',
      port: 0,
      codec: managerCodec,
      protocol: POOL_PROTOCOL,
      runtime: nodeRuntime(),
      logger: silent,
      secure,
    });
    return new Conversation(listener, key, files);
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

  /** How many look-ups were welcomed. */
  get peers(): number {
    return this.#listener.peers.size;
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

  it('speaks TLS with the files of a token, and to a Manager of its pool alone', async (context) => {
    if (!hasPython) context.skip('NOT TESTED: there is no python3 here, so docs/lookup.py was not run');
    const cluster = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
    const token = (grants: string, root = cluster.root): string =>
      makeToken({ ...cluster, root, grants: readGrants(grants) });
    const directory = mkdtempSync(join(tmpdir(), 'leasehold-lookup-'));
    try {
      const { anchor, vouch } = readToken(token('reader:pool/presence'));
      const { cert, key } = vouch();
      for (const [name, text] of Object.entries({ 'ca.pem': anchor, 'cert.pem': cert, 'key.pem': key }))
        writeFileSync(join(directory, name), text);
      const begin = (tls: string) =>
        Conversation.begin('alice', secureSocketsOf({ tls, logger: silent }, 0), [directory]);
      for (const grants of ['server:pool/presence', 'reader:quorum|server:pool/pre*']) {
        await using talk = await begin(token(grants));
        expect(await talk.said()).toEqual({ what: 'welcome', version: 3 });
        talk.tell(answering(await talk.asked(), snapshot));
        expect(await talk.said()).toMatchObject({ what: 'at', position: 70_000, url: 'http://a' });
      }
      for (const grants of ['server:pool/other|server:flease', 'owner:pool', 'server:pool/pres']) {
        await using talk = await begin(token(grants));
        expect(await talk.said()).toBeUndefined();
        expect([talk.complaint, talk.peers]).toEqual([expect.stringContaining('no Manager of presence'), 0]);
      }
      await using foreign = await begin(token('everything', newKeyPair()));
      expect(await foreign.said()).toBeUndefined();
      expect(foreign.complaint).toContain('CERTIFICATE_VERIFY_FAILED');
    } finally {
      rmSync(directory, { recursive: true });
    }
  }, 60_000);
});
