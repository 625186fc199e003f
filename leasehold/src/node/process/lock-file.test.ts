import { chmodSync, copyFileSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fileIdentity, makePrivate, networkFileSystem } from './lock-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-lock-file-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string): string {
  const path = join(folder, name);
  writeFileSync(path, 'x');
  return path;
}

describe('a lock file', () => {
  it('is made private, whatever it was', () => {
    const path = file('private');
    chmodSync(path, 0o666);
    makePrivate(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('is refused on a network file system', () => {
    expect([0x6969, 0xff534d42, -0x00acb2be].map(networkFileSystem)).toEqual(['NFS', 'CIFS', 'CIFS']);
    expect([0xef53, 0x58465342, 0x9123683e, 0x01021994].map(networkFileSystem)).toEqual(
      Array(4).fill(undefined),
    );
  });

  it('is named as missing when it is', () => {
    expect(() => makePrivate(join(folder, 'none'))).toThrow(expect.objectContaining({ code: 'ENOENT' }));
    expect(() => fileIdentity(join(folder, 'none'))).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  });

  it('stays the same under another name, and a copy is another', () => {
    const path = file('one');
    const identity = fileIdentity(path);
    copyFileSync(path, join(folder, 'copy'));
    renameSync(path, join(folder, 'two'));
    expect(fileIdentity(join(folder, 'two'))).toBe(identity);
    expect(fileIdentity(join(folder, 'copy'))).not.toBe(identity);
  });
});
