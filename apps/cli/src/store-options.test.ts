import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { runCli } from './cli.ts';
import { storeOf, type StoreOptions, storeWords, withStoreOptions } from './store-options.ts';
import { recordedContext } from './testing/recorded-context.ts';

const SECRET = 's3cret';
const ADDRESS = `etcds://me:${SECRET}@10.0.0.1,10.0.0.2:2380/prod`;

/** What these words come to. */
function read(argv: readonly string[], environment: Record<string, string> = {}) {
  const command = withStoreOptions(
    new Command().option('--data <directory>').option('--memory'),
  ).exitOverride();
  command.configureOutput({ outputError: () => {} }).parse(argv, { from: 'user' });
  return storeOf(recordedContext({ environment }), command.opts<StoreOptions>());
}

describe('where the command line says that the log is', () => {
  it('is an etcd, by an option or by the environment', () => {
    expect(read(['--store', ADDRESS])).toMatchObject({ etcd: ADDRESS, cluster: undefined });
    expect(read([], { LEASEHOLD_STORE: ADDRESS })).toMatchObject({ etcd: ADDRESS });
    expect(read(['--store', ADDRESS], { LEASEHOLD_STORE: 'etcd://other' })).toMatchObject({ etcd: ADDRESS });
    const tls = ['--store-ca', 'ca', '--store-cert', 'cert', '--store-key', 'key', '--cluster', 'c'];
    expect(read(tls, { LEASEHOLD_STORE: ADDRESS })).toEqual({
      ...{ etcd: ADDRESS, ca: 'ca', cert: 'cert', key: 'key', cluster: 'c' },
    });
  });

  it('is no etcd if none is named', () => {
    expect(read([])).toBeUndefined();
    expect(read([], { LEASEHOLD_STORE: '' })).toBeUndefined();
    expect(read(['--data', 'x'])).toBeUndefined();
  });

  it('is one place', () => {
    expect(() => read(['--store', ADDRESS, '--data', 'x'])).toThrow(
      "'--store <address>' cannot be used with",
    );
    expect(() => read(['--store', ADDRESS, '--memory'])).toThrow("'--store <address>' cannot be used with");
    expect(() => read(['--data', 'x'], { LEASEHOLD_STORE: ADDRESS })).toThrow(
      'LEASEHOLD_STORE is set, and --data given',
    );
    expect(() => read(['--memory'], { LEASEHOLD_STORE: ADDRESS })).toThrow('and --memory given');
  });

  it.each(['--cluster', '--store-ca', '--store-cert', '--store-key'])('needs a store for %s', (option) => {
    expect(() => read([option, 'x'])).toThrow(`${option} is about an etcd, and none is named`);
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
    [['--store', ADDRESS, '--host', '0.0.0.0', '--insecure']],
    [['--store', ADDRESS, '--store-cert', 'x']],
    [['--store', ADDRESS, '--bogus']],
  ])('is refused without repeating a password: %j', async (argv) => {
    for (const json of [[], ['--json']]) {
      const context = recordedContext();
      expect(await runCli(['manager', ...argv, ...json], context)).toBe(2);
      expect(context.printed() + context.complained()).not.toContain(SECRET);
    }
  });
});
