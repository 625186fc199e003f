/** What handles with a token show: by `inspect`, as status, over HTTP, in logs and in errors. None of it has a secret. */

import { rm } from 'node:fs/promises';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { joinFlease } from 'leasehold/flease';
import { connectGroup, joinGroup } from 'leasehold/membership';
import { connectLookup, joinPool, serveStatus, startManager } from 'leasehold';
import { connectQuorum, startReplica } from 'leasehold/quorum';
import { joinLimits } from 'leasehold/ratelimit';
import { createRoot, createToken } from 'leasehold/security';
import { listeningLogger } from '../leasehold/src/node/tcp/socket-script.ts';
import { lastingAddresses } from '../leasehold/src/node/testing/lasting-port.ts';
import { Secrets } from './harness/secrets.ts';

const closing: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

function directory(): string {
  const path = mkdtempSync(join(tmpdir(), 'leasehold-shown-'));
  closing.push({ [Symbol.asyncDispose]: () => rm(path, { recursive: true }) });
  return path;
}

/** In every way in which a program may print a value. */
const shownAs = (value: unknown): readonly string[] => [
  inspect(value),
  inspect(value, { depth: 20, showHidden: true }),
  inspect(value, { depth: 20, showHidden: true, customInspect: false }),
  String(value),
];

describe('handles of processes with a token', () => {
  it('show no token and no key', async () => {
    const ca = join(directory(), 'ca');
    await createRoot(ca);
    const tls = await createToken({ ca, grants: 'everything' });
    const secrets = new Secrets();
    secrets.add(tls);
    const logger = listeningLogger();
    const common = { tls, logger } as const;
    const {
      a: ofMember,
      r: ofReplica,
      s: ofServer,
      ...others
    } = await lastingAddresses('a', 'b', 'c', 'r', 's');
    const manager = await startManager({ listen: '127.0.0.1:0', firstStart: true, ...common });
    closing.push(manager);
    const managers = [manager.address];
    const owner = await joinPool({
      ...{ managers, pool: 'visits', name: 'ann', url: 'http://ann', moves: true, ...common },
    });
    closing.push(owner);
    await owner.ready();
    const lookup = await connectLookup({ managers, pool: 'visits', ...common });
    closing.push(lookup);
    const limits = await joinLimits({ managers, name: 'ann', ...common });
    closing.push(limits);
    const member = await joinFlease({ name: 'a', peers: { a: ofMember, ...others }, ...common });
    closing.push(member);
    const replica = await startReplica({
      name: 'r',
      directory: directory(),
      peers: { r: ofReplica },
      ...common,
    });
    closing.push(replica);
    const client = await connectQuorum({ servers: [ofReplica], ...common });
    closing.push(client);
    await client.put('key', 'value');
    const server = await joinGroup({ name: 's', peers: { s: ofServer }, ...common });
    closing.push(server);
    const groupClient = await connectGroup({ name: 'x', servers: [ofServer], ...common });
    closing.push(groupClient);

    const handles = { manager, owner, lookup, limits, member, replica, client, server, groupClient };
    for (const [name, handle] of Object.entries(handles)) {
      const texts = [
        ...shownAs(handle),
        JSON.stringify(handle.status()),
        inspect(handle.status(), { depth: 20 }),
      ];
      const http = await serveStatus(handle, { listen: '127.0.0.1:0', logger });
      for (const path of ['/metrics', '/v1/status', '/readyz', '/healthz'])
        texts.push(await (await fetch(`${http.url}${path}`)).text());
      await http.close();
      for (const text of texts) expect(secrets.areIn(text), `${name}: ${text.slice(0, 500)}`).toBe(false);
    }
    expect(logger.lines.length).toBeGreaterThan(0);
    for (const line of logger.lines) expect(secrets.areIn(inspect(line, { depth: 20 }))).toBe(false);
  });

  it('say in no error which token was refused', async () => {
    const ca = join(directory(), 'ca');
    await createRoot(ca);
    const token = await createToken({ ca, grants: 'reader:pool' });
    const secrets = new Secrets();
    secrets.add(token);
    const managers = ['127.0.0.1:1'];
    const given = [
      token,
      token.slice(0, 130),
      `${token} ${token}`,
      `${token},`,
      [token, 'lh1.'],
      { file: token },
      { token },
      { ca: token, cert: token, key: token },
    ];
    for (const tls of given) {
      const joining = joinPool({
        managers,
        pool: 'visits',
        name: 'ann',
        url: 'http://ann',
        tls: tls as never,
      });
      const error: unknown = await joining.then(
        () => expect.fail('it joined'),
        (why: unknown) => why,
      );
      expect(error).toBeInstanceOf(Error);
      for (const text of [...shownAs(error), JSON.stringify(error)])
        expect(secrets.areIn(text), `of ${inspect(tls).slice(0, 40)}`).toBe(false);
    }
  });
});
