import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { runCli } from './cli.ts';
import {
  storeOf,
  type StoreOptions,
  storeWords,
  withCellOptions,
  withStoreOptions,
} from './store-options.ts';
import { recordedContext } from './testing/recorded-context.ts';

const SECRET = 's3cret';
const ADDRESS = `etcds://me:${SECRET}@10.0.0.1,10.0.0.2:2380/prod`;

/** What these words come to. */
function read(argv: readonly string[], environment: Record<string, string> = {}) {
  const command = withCellOptions(
    withStoreOptions(new Command().option('--data <directory>').option('--memory').option('--name <name>')),
  ).exitOverride();
  command.configureOutput({ outputError: () => {} }).parse(argv, { from: 'user' });
  return storeOf(recordedContext({ environment }), command.opts<StoreOptions>());
}

describe('where the command line says that the log is', () => {
  it('is an etcd, by an option or by the environment', () => {
    expect(read(['--store', ADDRESS])).toMatchObject({ etcd: { url: ADDRESS }, cluster: undefined });
    expect(read([], { LEASEHOLD_STORE: ADDRESS })).toMatchObject({ etcd: { url: ADDRESS } });
    expect(read(['--store', ADDRESS], { LEASEHOLD_STORE: 'etcd://other' })).toMatchObject({
      etcd: { url: ADDRESS },
    });
    const tls = ['--store-ca', 'ca', '--store-cert', 'cert', '--store-key', 'key', '--cluster', 'c'];
    expect(read(tls, { LEASEHOLD_STORE: ADDRESS })).toEqual({
      etcd: { url: ADDRESS, ca: 'ca', cert: 'cert', key: 'key' },
      cluster: 'c',
    });
  });

  it('is no etcd if none is named', () => {
    expect(read([])).toBeUndefined();
    expect(read([], { LEASEHOLD_STORE: '' })).toBeUndefined();
    expect(read(['--data', 'x'])).toBeUndefined();
  });

  it('is one place', () => {
    expect(() => read(['--store', ADDRESS, '--data', 'x'])).toThrow('--store is given, and --data too');
    expect(() => read(['--store', ADDRESS, '--memory'])).toThrow("'--store <address>' cannot be used with");
    expect(() => read(['--data', 'x'], { LEASEHOLD_STORE: ADDRESS })).toThrow(
      'LEASEHOLD_STORE is set, and --data too',
    );
    expect(() => read(['--memory'], { LEASEHOLD_STORE: ADDRESS })).toThrow('and --memory given');
  });

  it.each(['--cluster', '--store-ca', '--store-cert', '--store-key'])('needs a store for %s', (option) => {
    expect(() => read([option, 'x'])).toThrow(
      `${option} means nothing here: give an etcd with --store, or set LEASEHOLD_STORE`,
    );
  });

  it.each(['fleas', 'http://h:2379', 'h:2379'])('is neither an etcd nor to be elected: %s', (store) => {
    const complaint =
      'must be an etcd, as etcd://h1:2379,h2:2379/prefix, or etcds:// for TLS; or quorum, for';
    expect(() => read(['--store', store])).toThrow(`--store ${complaint}`);
    expect(() => read([], { LEASEHOLD_STORE: store })).toThrow(`LEASEHOLD_STORE ${complaint}`);
  });

  it('is a group of replicas, one in each Manager', () => {
    const peers = 'a=h1:7600,b=h2:7600,c=h3:7600';
    const named = ['--store', 'quorum', '--name', 'b', '--peers', peers];
    const parsed = { a: 'h1:7600', b: 'h2:7600', c: 'h3:7600' };
    expect(read(named)).toMatchObject({
      quorum: { name: 'b', peers: parsed, directory: './leasehold-quorum-b' },
    });
    const environment = { LEASEHOLD_MANAGER_PEERS: peers, LEASEHOLD_MANAGER_NAME: 'c' };
    expect(read(['--store', 'quorum', '--data', '/d'], environment)).toMatchObject({
      quorum: { name: 'c', peers: parsed, directory: '/d' },
    });
    expect(() => read(['--store', 'quorum'])).toThrow('which Managers? Give --peers');
    expect(() => read(['--store', 'quorum', '--peers', peers])).toThrow('which of a, b, c is this?');
    expect(() => read(['--store', 'quorum', '--name', 'd', '--peers', peers])).toThrow(
      '"d" is not among the peers, which are a, b, c',
    );
    expect(() => read([...named, '--store-ca', 'x'])).toThrow('all three');
    expect(() => read([...named, '--cluster', 'x'])).toThrow('give --cell instead');
    expect(() => read([...named, '--clock-skew', '1s'])).toThrow(
      '--clock-skew means nothing here: give --store flease',
    );
    expect(() => read(['--newcomer'])).toThrow('--newcomer means nothing here: give --store flease or');
    expect(() => read(['--store', ADDRESS, '--peers', peers])).toThrow('--peers means nothing here');
  });

  it('is told without what is secret', () => {
    expect(storeWords({ etcd: ADDRESS })).toBe('etcd at 10.0.0.1:2379, 10.0.0.2:2380, under prod/');
    expect(storeWords({ etcd: ADDRESS, cluster: 'blue' })).toMatch(/\(cluster blue\)$/);
  });

  it.each([
    [['--store', `http://me:${SECRET}@h`]],
    [['--store', `etcd://me:${SECRET}@`]],
    [['--store', `etcd://me:${SECRET}@h`, '--store-ca', 'x']],
    [['--store', ADDRESS, '--data', 'x']],
    [['--store', ADDRESS, '--listen', '0.0.0.0:7400', '--insecure']],
    [['--store', ADDRESS, '--store-cert', 'x']],
    [['--store', ADDRESS, '--bogus']],
  ])('is refused without repeating a password: %j', async (argv) => {
    for (const json of [[], ['--json']]) {
      const context = recordedContext();
      expect(await runCli(['manager', 'start', ...argv, ...json], context)).toBe(2);
      expect(context.printed() + context.complained()).not.toContain(SECRET);
    }
  });
});

describe('Managers that elect each other, on the command line', () => {
  const WORDS = ['--store', 'flease', '--name', 'a', '--peers', 'a=h1:7500,b=h2:7500'];
  const PEERS = { a: 'h1:7500', b: 'h2:7500' };

  it('are named by options or by the environment', () => {
    expect(read(WORDS)).toMatchObject({ flease: { name: 'a', peers: PEERS } });
    const more = [
      '--cluster',
      'c',
      '--cell',
      'g',
      '--cell-listen',
      '0.0.0.0:7500',
      '--clock-skew',
      '50ms',
      '--takeover',
      '1min',
    ];
    expect(read([...WORDS, ...more])).toMatchObject({
      flease: { name: 'a', peers: PEERS, cell: 'g', listen: '0.0.0.0:7500', clockSkewMs: 50, tls: undefined },
      cluster: 'c',
    });
    expect(read([...WORDS, ...more])).toMatchObject({ flease: { takeoverMs: 60_000 } });
    const change = ['--peers-version', '2', '--peers-before', 'a=h1:7500,c=h3:7500'];
    expect(read([...WORDS, ...change])).toMatchObject({
      flease: { peers: PEERS, peersVersion: 2, peersBefore: { a: 'h1:7500', c: 'h3:7500' } },
    });
    const environment = { LEASEHOLD_STORE: 'flease', LEASEHOLD_MANAGER_NAME: 'b' };
    expect(read([], { ...environment, LEASEHOLD_MANAGER_PEERS: 'a=h1:7500,b=h2:7500' })).toMatchObject({
      flease: { name: 'b', peers: PEERS },
    });
  });

  it('know each other by all three of the certificates, or by none', () => {
    const tls = ['--store-ca', 'ca', '--store-cert', 'cert', '--store-key', 'key'];
    expect(read([...WORDS, ...tls])).toMatchObject({
      flease: { tls: { ca: 'ca', cert: 'cert', key: 'key' } },
    });
    expect(() => read([...WORDS, ...tls.slice(0, 4)])).toThrow('all three');
  });

  it.each([
    [['--store', 'flease'], 'which Managers? Give --peers'],
    [['--store', 'flease', '--peers', 'a=h:1'], 'which of a is this? Give --name'],
    [['--store', 'flease', '--peers', 'a=h:1', '--name', 'z'], '"z" is not among the peers, which are a'],
    [[...WORDS, '--peers-before', 'a'], '"a" in --peers-before is no member with its address'],
    [['--peers-before', 'a=h:1'], '--peers-before means nothing here: give --store flease or --store quorum'],
    [['--store', ADDRESS, '--clock-skew', '1s'], '--clock-skew means nothing here'],
    [[...WORDS, '--newcomer'], '--newcomer means nothing here: give --store quorum'],
    [[...WORDS, '--data', 'x'], 'a Manager keeps its log in one place'],
  ])('are refused if something is missing or of no use: %j', (argv, complaint) => {
    expect(() => read(argv)).toThrow(complaint);
  });

  it('are told of in words', () => {
    expect(storeWords({ flease: { name: 'a', peers: PEERS } })).toBe(
      'nothing: a=h1:7500, b=h2:7500 elect who leads cluster leasehold',
    );
  });

  it('have nothing to recover', async () => {
    const context = recordedContext();
    expect(await runCli(['manager', 'recover', '--store', 'flease', '--yes'], context)).toBe(2);
    expect(context.complained()).toContain('keep nothing: there is nothing to recover');
  });

  it('are not recovered on a quorum group: the others refuse a directory that was put back', async () => {
    const context = recordedContext();
    expect(await runCli(['manager', 'recover', '--store', 'quorum', '--yes'], context)).toBe(2);
    expect(context.complained()).toContain('Start that Manager with an empty directory and --newcomer');
  });
});
