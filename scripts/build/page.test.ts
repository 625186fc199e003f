import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensurePage } from './page.mjs';

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'page-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the script of the page', () => {
  const places = (): { sources: string; target: string } => {
    const sources = join(folder, 'src');
    mkdirSync(join(sources, 'parts'), { recursive: true });
    return { sources, target: join(folder, 'page-bundle.ts') };
  };

  it('is made when it is missing or its sources changed, and then left alone', async () => {
    const { sources, target } = places();
    writeFileSync(join(sources, 'main.ts'), "import { word } from './parts/a.ts';\nconsole.log(word);\n");
    writeFileSync(join(sources, 'parts', 'a.ts'), "export const word: string = 'first';\n");
    const ensure = () => ensurePage({ sources, target });

    expect([await ensure(), await ensure()]).toEqual(['made', 'there']);
    expect(readFileSync(target, 'utf8')).toContain('first');

    writeFileSync(join(sources, 'parts', 'a.ts'), "export const word: string = 'second';\n");
    expect([await ensure(), await ensure()]).toEqual(['made', 'there']);
    expect(readFileSync(target, 'utf8')).toContain('second');

    rmSync(target);
    expect(await ensure()).toBe('made');
    expect(readdirSync(folder).sort()).toEqual(['page-bundle.ts', 'src']);
  });

  it('is the same text to the browser, whatever a template would read into it', async () => {
    const { sources, target } = places();
    // biome-ignore lint/suspicious/noTemplateCurlyInString: that is what the page might have.
    const text = 'a `b` ${c} \\n \\';
    writeFileSync(join(sources, 'main.ts'), `console.log(${JSON.stringify(text)});\n`);
    await ensurePage({ sources, target });
    const { PAGE_BUNDLE } = await import(/* @vite-ignore */ target);
    const said: string[] = [];
    new Function('console', PAGE_BUNDLE)({ log: (line: string) => said.push(line) });
    expect(said).toEqual([text]);
  });

  it('is refused if it would end its own element', async () => {
    const { sources, target } = places();
    writeFileSync(join(sources, 'main.ts'), 'console.log(String.raw`<!-- a`);\n');
    await expect(ensurePage({ sources, target })).rejects.toThrow('would end its element');
  });
});
