import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import {
  type Certificates,
  hasOpenssl,
  leaveOutWithoutOpenssl,
  makeCertificates,
} from './certificates-script.ts';
import { secureContext } from './secure-context.ts';

let directory: string;
let certificates: Certificates;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'leasehold-secure-context-'));
  if (hasOpenssl()) certificates = makeCertificates(directory);
}, 30_000);
afterAll(() => rmSync(directory, { recursive: true }));

const file = (name: string, text: string): string => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};

describe('the certificate of a client', () => {
  it('is read from files, or given as text', (context) => {
    leaveOutWithoutOpenssl(context);
    const { ca, client } = certificates;
    secureContext({});
    secureContext({ ca, ...client });
    secureContext({
      ca: readFileSync(ca, 'utf8'),
      cert: readFileSync(client.cert, 'utf8'),
      key: readFileSync(client.key, 'utf8'),
    });
  });

  it('is a certificate together with its key', (context) => {
    leaveOutWithoutOpenssl(context);
    const { client } = certificates;
    expect(() => secureContext({ cert: client.cert })).toThrow(/option key is undefined, but cert is given/);
    expect(() => secureContext({ key: client.key })).toThrow(/option cert is undefined, but key is given/);
  });

  it('must fit together', (context) => {
    leaveOutWithoutOpenssl(context);
    const { client, stranger } = certificates;
    expect(() => secureContext({ cert: client.cert, key: stranger.key })).toThrow(/must be a pair/);
  });

  it('must be there, and PEM', (context) => {
    leaveOutWithoutOpenssl(context);
    expect(() => secureContext({ ca: join(directory, 'nowhere') })).toThrow(
      /option ca is ".*nowhere", but it cannot be read/,
    );
    expect(() => secureContext({ ca: file('empty', '') })).toThrow(
      /it must be PEM, with a CERTIFICATE in it/,
    );
    expect(() => secureContext({ ca: certificates.client.key })).toThrow(/with a CERTIFICATE in it/);
    const broken = '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n';
    expect(() => secureContext({ ca: file('broken', broken) })).toThrow(InvalidArgumentError);
  });

  it('is not repeated when it is wrong', (context) => {
    leaveOutWithoutOpenssl(context);
    const secret = 'MIGHAgEAMBMGByqGSM49';
    const keys = [
      `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----\n`,
      `${secret}\n${secret}\n`,
      secret.repeat(20),
      file('key', `-----BEGIN PRIVATE KEY-----\n${secret}\n-----END PRIVATE KEY-----\n`),
    ];
    for (const key of keys) {
      let thrown: unknown;
      try {
        secureContext({ cert: certificates.client.cert, key });
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(InvalidArgumentError);
      expect(inspect(thrown, { depth: 5 })).not.toContain(secret);
    }
  });
});
