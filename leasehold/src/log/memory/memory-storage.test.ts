import { describe, expect, it } from 'vitest';
import { memoryStorage, NoSuchFileError } from './memory-storage.ts';

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const bytes = (of: string): Uint8Array => new TextEncoder().encode(of);

describe('files in memory', () => {
  it('keep what is written, with zeros where nothing was', async () => {
    const storage = memoryStorage();
    const file = await storage.open('a');
    await file.write(2, bytes('xyz'));
    await file.truncate(4);
    await file.truncate(6);
    await file.sync();
    await file.close();
    const again = await storage.open('a');
    expect(await again.size()).toBe(6);
    expect([...(await again.read(0, 100))]).toEqual([0, 0, 120, 121, 0, 0]);
    expect(text(await again.read(3, 1))).toBe('y');
    expect(await again.read(10, 5)).toHaveLength(0);
  });

  it('can be listed, renamed over others, and removed', async () => {
    const storage = memoryStorage();
    for (const name of ['b', 'a']) await (await storage.open(name)).write(0, bytes(name));
    expect(await storage.list()).toEqual(['a', 'b']);
    await storage.rename('a', 'b');
    await storage.syncDirectory();
    expect(await storage.list()).toEqual(['b']);
    expect(text(await (await storage.open('b')).read(0, 9))).toBe('a');
    await storage.remove('b');
    expect(await storage.list()).toEqual([]);
  });

  it('say so when a name is not there', async () => {
    const storage = memoryStorage();
    await expect(storage.remove('a')).rejects.toThrow(NoSuchFileError);
    await expect(storage.rename('a', 'b')).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('can still be read through an open handle when they are removed', async () => {
    const storage = memoryStorage();
    const file = await storage.open('a');
    await file.write(0, bytes('a'));
    await storage.remove('a');
    expect(text(await file.read(0, 1))).toBe('a');
    expect(await (await storage.open('a')).size()).toBe(0);
  });
});
