import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

interface Entry {
  readonly resolved?: string;
  readonly link?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const text = readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8');
const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, Entry>> };

describe('the lock file', () => {
  it('lists the optional packages of every platform, or npm ci refuses it', () => {
    const missing = Object.entries(packages).flatMap(([parent, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies).filter(
        (name) => !(`node_modules/${name}` in packages || `${parent}/node_modules/${name}` in packages),
      ),
    );
    expect(missing).toEqual([]);
  });

  it('names no registry', () => {
    const resolved = Object.values(packages).filter(
      ({ resolved, link }) => resolved !== undefined && link !== true,
    );
    expect(resolved).toEqual([]);
  });
});
