import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { freePeers } from '../../leasehold/src/flease/shell/testing/groups.ts';
import { serveStatus } from '../../leasehold/src/node/service/serve-status.ts';
import { silent } from '../../leasehold/src/runtime/logger.ts';
import { wholePayload } from '../../leasehold/src/runtime/codec.ts';
import { join, type JoinOptions } from './join.ts';
import { playWorld } from './simulation.ts';
import { complaintsAbout } from '../../leasehold/src/node/testing/exposition.ts';
import { beat, codec } from './wire.ts';

const LONG_MS = 30_000;

describe('the skeleton of a protocol', () => {
  it('notices the dead, in hostile worlds', () => {
    for (let seed = 1; seed <= 20; seed += 1) expect(playWorld(seed)).toBeGreaterThan(0);
  });

  it('reads its own messages, and refuses others', () => {
    for (const sample of beat.samples())
      expect(codec.decode(wholePayload(codec.encode(sample)))).toEqual(sample);
    expect(() => codec.decode(Uint8Array.of(0, 0, 0, 7))).toThrow('malformed message: number ends too early');
    expect(() => codec.decode(Uint8Array.of(1, 0, 0, 0, 7))).toThrow('is of kind 1, which does not exist');
    expect(() => codec.decode(Uint8Array.of(0, 0, 0, 0, 7, 7))).toThrow('has 1 bytes too many');
  });

  it('runs in real processes, and shows status, health and metrics', { timeout: LONG_MS }, async () => {
    const options: Omit<JoinOptions, 'name'> = {
      ...{ peers: await freePeers('a', 'b'), everyMs: 100, silentAfterMs: 1_000, logger: silent },
    };
    await using a = await join({ ...options, name: 'a' });
    await using server = await serveStatus(a, { listen: '127.0.0.1:0', logger: silent });
    const ask = (path: string): Promise<Response> => fetch(`${server.url}${path}`);
    await vi.waitUntil(async () => (await ask('/readyz')).status === 503, { timeout: LONG_MS });
    await using _ = await join({ ...options, name: 'b' });
    await vi.waitUntil(async () => (await ask('/readyz')).status === 200, { timeout: LONG_MS });
    expect(await (await ask('/v1/status')).json()).toMatchObject({
      handles: [{ module: 'heartbeat', name: 'a', alive: ['b'] }],
    });
    const metrics = await (await ask('/metrics')).text();
    expect(complaintsAbout(metrics)).toEqual([]);
    expect(metrics).toContain('\nheartbeat_alive 1\n');
  });

  it('takes less than 300 lines', () => {
    const folder = fileURLToPath(new URL('.', import.meta.url));
    const files = readdirSync(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
    const lines = files.map((name) => readFileSync(`${folder}${name}`, 'utf8').split('\n').length - 1);
    expect(lines.reduce((sum, each) => sum + each, 0)).toBeLessThan(300);
  });
});
