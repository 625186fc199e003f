import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { root } from '../project.mjs';
import { referenceOf, surfaceOf, unsaid } from './reference.ts';
import { readSurface } from './surface.ts';

const SOURCES = {
  'leasehold/tsconfig.build.json': JSON.stringify({
    compilerOptions: { strict: true, module: 'NodeNext', target: 'ES2022', noLib: true, types: [] },
    include: ['src'],
  }),
  'package.json': '{ "type": "module" }',
  'leasehold/src/index.ts': [
    '/** All doors. */',
    "import type { open as Open } from './thing.js';",
    "export type { Thing as Renamed } from './thing.js';",
    '/** Not this one. */',
    'export const open: typeof Open = (...given) => given as never;',
  ].join('\n'),
  'leasehold/src/thing.ts': [
    '/** What this file argues. */',
    '/** More. */',
    'interface Base {',
    '  /** From below. */',
    '  readonly low: string;',
    '}',
    '/** A thing. See {@link TroubleError}. */',
    'export interface Thing extends Base {',
    '  /** How many. @default 3 */',
    '  many?: number | undefined;',
    '  /** Asks. @throws {TroubleError} if not */',
    '  ask(what: string, { how }: { how?: string }): void;',
    '  /** @internal */',
    '  hidden(): void;',
    '  silent(): void;',
    '}',
    '/** Opens. */',
    'export function open<T>(name: string, more?: T): Thing { throw name; }',
    'export class TroubleError {}',
  ].join('\n'),
};

describe('the reference', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reference-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  for (const [path, text] of Object.entries(SOURCES)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const surface = readSurface(folder, [
    { name: 'all', path: 'leasehold/src/index.ts' },
    { name: 'all/thing', path: 'leasehold/src/thing.ts' },
  ]);
  const page = referenceOf(surface);

  it('describes a name once, by the sentence above its declaration, whatever way it is exported', () => {
    expect(surface.doors.map(({ exports }) => exports.map(({ name }) => name).sort())).toEqual([
      ['Renamed', 'open'],
      ['Thing', 'TroubleError', 'open'],
    ]);
    expect(page).toContain('open<T>(name: string, more?: T): Thing');
    expect(page.match(/^Opens\.$/gm)).toHaveLength(1);
    expect(page).toContain('A thing. See [`TroubleError`](#troubleerror).');
  });

  it('has the members that a user may touch, those of unpublished bases too, with defaults and errors', () => {
    expect(page).toContain('| `many?: number` | How many. Default: 3. |');
    expect(page).toContain(
      '| `ask(what, options): void` | Asks. Throws [`TroubleError`](#troubleerror) if not. |',
    );
    expect(page).toContain('| `low: string` | From below. |');
    expect(page).not.toContain('hidden');
    expect(page).toContain('| `ask` | [Thing](#thing) |');
  });

  it('finds what has no sentence', () => {
    expect(unsaid(surface)).toEqual([
      'leasehold/src/thing.ts: Thing.silent',
      'leasehold/src/thing.ts: TroubleError',
    ]);
  });

  it('in docs/reference.md is what the sources say; otherwise: npm run reference', () => {
    const here = surfaceOf(root);
    const isSame = readFileSync(join(root, 'docs', 'reference.md'), 'utf8') === referenceOf(here);
    expect(isSame, 'run npm run reference').toBe(true);
  });
});
