import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readGrants } from './grants.ts';
import { createRoot, issuedTokens, issueToken, readRoot, writeSecret } from './root-directory.ts';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'leasehold-root-'));
});
afterAll(() => rm(home, { recursive: true }));

const READER = { grants: readGrants('viewer'), hosts: [], endS: undefined, nowMs: 0 };

describe('the directory of a root', () => {
  it('can be read by its owner alone', async () => {
    const directory = join(home, 'private', 'ca');
    await createRoot(directory, 'blue');
    const modes = await Promise.all(
      ['', ...(await readdir(directory))].map(
        async (name) => (await stat(join(directory, name))).mode & 0o077,
      ),
    );
    expect(modes).toEqual([0, 0, 0, 0, 0]);
    expect(await readFile(join(directory, '.gitignore'), 'utf8')).toBe('*\n');
  });

  it('has one root although fifty commands make it at once', async () => {
    const directory = join(home, 'contended');
    const made = await Promise.allSettled(Array.from({ length: 50 }, () => createRoot(directory)));
    const roots = made.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    expect(roots).toHaveLength(1);
    expect((await readRoot(directory)).id).toBe(roots[0]?.id);
    const codes = made.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []));
    expect(new Set(codes)).toEqual(new Set(['ROOT_EXISTS']));
    expect((await readdir(home)).filter((name) => name.startsWith('contended.'))).toEqual([]);
  });

  it('lists the tokens that it signed, without a secret', async () => {
    const directory = join(home, 'listed');
    await createRoot(directory);
    const { text, token } = await issueToken(directory, { ...READER, endS: 1_000 });
    await issueToken(directory, READER);
    const issued = await issuedTokens(directory);
    expect(issued.map(({ id, endsAt }) => [id, endsAt])).toEqual([
      [token.id, '1970-01-01T00:16:40.000Z'],
      [expect.any(String), undefined],
    ]);
    expect(await readFile(join(directory, 'tokens.log'), 'utf8')).not.toContain(text.slice(60, 100));
  });

  it.each<[string, string, (directory: string) => Promise<unknown>]>([
    ['that is missing', 'ROOT_MISSING', (directory) => rm(directory, { recursive: true })],
    ['whose key is missing', 'ROOT_MISSING', (directory) => rm(join(directory, 'root.key'))],
    ['whose key others can read', 'ROOT_EXPOSED', (directory) => chmod(join(directory, 'root.key'), 0o644)],
    ['that others can read', 'ROOT_EXPOSED', (directory) => chmod(directory, 0o755)],
    [
      'with rubbish in the key',
      'ROOT_DAMAGED',
      (directory) => writeFile(join(directory, 'root.key'), 'rubbish'),
    ],
    [
      'with the certificate of another root',
      'ROOT_DAMAGED',
      async (directory) => {
        await createRoot(`${directory}-other`, 'green');
        await writeFile(join(directory, 'ca.pem'), await readFile(join(`${directory}-other`, 'ca.pem')));
      },
    ],
  ])('%s signs nothing', async (what, code, spoil) => {
    const directory = join(home, what.replaceAll(' ', '-'));
    await createRoot(directory, 'blue');
    await spoil(directory);
    await expect(issueToken(directory, READER)).rejects.toMatchObject({ code, retryable: false });
  });

  it('signs no token that has ended', async () => {
    const directory = join(home, 'ended');
    await createRoot(directory);
    await expect(issueToken(directory, { ...READER, endS: 10, nowMs: 10_000 })).rejects.toThrow(
      'end in the future',
    );
  });
});

describe('a file with a token', () => {
  it('is not overwritten', async () => {
    const path = join(home, 'token');
    await writeSecret(path, () => 'one');
    await expect(writeSecret(path, () => 'two')).rejects.toMatchObject({ code: 'FILE_EXISTS' });
    expect([await readFile(path, 'utf8'), (await stat(path)).mode & 0o777]).toEqual(['one', 0o600]);
  });
});
