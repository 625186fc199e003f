import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nodeRuntime } from '../../node/runtime.ts';
import { silent } from '../../runtime/logger.ts';
import { type ManagerAddresses, resolveAddresses } from './addresses.ts';

const resolve = (managers?: ManagerAddresses) => resolveAddresses(managers, nodeRuntime(), silent);

describe('the addresses of the Managers', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'leasehold-addresses-'));
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(folder, { recursive: true });
  });

  it('are the default if nothing is said', async () => {
    expect((await resolve()).current).toEqual(['127.0.0.1:7400']);
  });

  it('are those of the option, whatever the environment says', async () => {
    vi.stubEnv('LEASEHOLD_MANAGERS', 'b:2');
    expect((await resolve(['a:1', 'a:1'])).current).toEqual(['a:1']);
  });

  it('are those of the environment, by name or by file', async () => {
    vi.stubEnv('LEASEHOLD_MANAGERS', 'a:1, [::1]:2');
    expect((await resolve()).current).toEqual(['a:1', '[::1]:2']);
    const file = join(folder, 'managers');
    writeFileSync(file, '# ours\na:1 # the first\n\nb:2\n');
    vi.stubEnv('LEASEHOLD_MANAGERS', '');
    vi.stubEnv('LEASEHOLD_MANAGERS_FILE', file);
    using addresses = await resolve();
    expect(addresses.current).toEqual(['a:1', 'b:2']);
  });

  it('follow the file, unless what it says is of no use', async () => {
    const file = join(folder, 'managers');
    writeFileSync(file, 'a:1\n');
    using addresses = await resolve({ file });
    writeFileSync(file, 'nonsense\n');
    writeFileSync(file, 'b:2\n');
    await vi.waitUntil(() => addresses.current[0] === 'b:2', { timeout: 10_000 });
    writeFileSync(file, '');
    writeFileSync(file, 'c:3');
    await vi.waitUntil(() => addresses.current[0] === 'c:3', { timeout: 10_000 });
  });

  it('are refused if there are none, or if one is none', async () => {
    await expect(resolve([])).rejects.toThrow(
      'option managers is empty, but it must name a Manager, as host:port',
    );
    await expect(resolve(['here'])).rejects.toThrow('option managers is here, but it must be host:port');
    await expect(resolve({ file: join(folder, 'missing') })).rejects.toThrow('a file that can be read');
  });

  it.each(['127.0.0.1:7400', 7400, null, [7400], {}, { file: '' }, { file: 7 }, { files: 'x' }])(
    'are refused if they are neither a list nor a file: %j',
    async (managers) => {
      await expect(resolve(managers as ManagerAddresses)).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        message: expect.stringContaining("it must be a list, as ['127.0.0.1:7400'], or { file }"),
      });
    },
  );

  it.each(['a:1', '127.0.0.1:65535', '[::1]:7400', 'manager.example:7400'])('can be %s', async (address) => {
    expect((await resolve([address])).current).toEqual([address]);
  });

  it.each([':1', 'a', 'a:', 'a:0', 'a:65536', 'a:x', 'a b:1', '::1:7400', 'a:1.5'])(
    'cannot be %j',
    async (address) => {
      await expect(resolve(['b:2', address])).rejects.toMatchObject({
        code: 'INVALID_OPTION',
        details: {
          ...{ option: 'managers', value: address },
          rule: 'it must be host:port, with a port from 1 to 65535',
        },
      });
    },
  );

  it('name the variable that one which is none came from', async () => {
    vi.stubEnv('LEASEHOLD_MANAGERS', 'a:1,b');
    await expect(resolve()).rejects.toMatchObject({
      details: { option: 'LEASEHOLD_MANAGERS', value: 'b' },
    });
  });
});
