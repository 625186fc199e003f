import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as path } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Certificates,
  hasOpenssl,
  leaveOutWithoutOpenssl,
  makeCertificates,
} from '../../node/http-client/certificates-script.ts';
import { joinFlease } from './join-flease.ts';
import { freePeers, join, TestGroup } from './testing/groups.ts';

const LONG_MS = 30_000;

let directory: string;
let certificates: Certificates;
beforeAll(() => {
  directory = mkdtempSync(path(tmpdir(), 'leasehold-flease-'));
  if (hasOpenssl()) certificates = makeCertificates(directory);
}, LONG_MS);
afterAll(() => rmSync(directory, { recursive: true }));

describe('a group with TLS', { timeout: LONG_MS }, () => {
  it('gives leases to its members', async (context) => {
    leaveOutWithoutOpenssl(context);
    const tls = { ca: certificates.ca, ...certificates.server };
    await using group = await TestGroup.start(['a', 'b', 'c'], { tls });
    const lease = await group.of('a').acquire('r');
    expect(await group.of('b').holder('r')).toMatchObject({ holder: 'a', number: lease.number });
  });

  it('has nothing to say to one whom nobody vouches for, nor to one without TLS', async (context) => {
    leaveOutWithoutOpenssl(context);
    const tls = { ca: certificates.ca, ...certificates.server };
    await using group = await TestGroup.start(['a', 'b', 'c'], { tls }, 1);
    await using _b = await join('b', group.peers, { tls: { ca: certificates.ca, ...certificates.stranger } });
    await using _c = await join('c', group.peers);
    const why = await group
      .of('a')
      .acquire('r', { timeoutMs: 2_500 })
      .catch((error: Error) => error.message);
    expect(why).toMatch(/no majority for "r".*b \(not connected: .*c \(not connected: /);
    expect(why).toMatch(
      /b \(.*is of another: .*c \(.*a token or tls is set here, but 127\.0\.0\.1:\d+ speaks plaintext/,
    );
    expect(
      group
        .of('a')
        .status()
        .peers.map(({ heardAgoMs }) => heardAgoMs),
    ).toEqual([undefined, undefined]);
  });

  it('needs all that there is to TLS', async () => {
    const peers = await freePeers('a');
    const tls = { ca: '/nowhere/ca.pem', cert: '/nowhere/cert.pem' } as {
      ca: string;
      cert: string;
      key: string;
    };
    await expect(joinFlease({ name: 'a', peers, tls })).rejects.toThrow('option tls.key is undefined');
    await expect(joinFlease({ name: 'a', peers, tls: { ...tls, key: 'k' } })).rejects.toThrow(
      /^option tls\.ca is "\/nowhere\/ca\.pem", but it cannot be read: ENOENT/,
    );
  });
});
