import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TestCell } from './testing/cells.ts';

/** Changes one byte of the frame that has this value. */
async function damage(cell: TestCell, name: string, value: string): Promise<void> {
  const path = join(cell.directory(name), '0000000000000001.journal');
  const at = (await readFile(path)).indexOf(value);
  expect(at).toBeGreaterThan(0);
  await using file = await open(path, 'r+');
  await file.write(new TextEncoder().encode('X'), 0, 1, at);
}

describe('replicas that each have lost another slot that is decided', () => {
  it.each([
    ['two of three, with the third down', ['a', 'b']],
    ['all of them', ['a', 'b', 'c']],
  ])('get the slots from each other and serve: %s', async (_, names) => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a');
    for (let at = 10; at < 20; at += 1) await client.put(`k${at}`, `value-${at}`);
    for (const name of ['a', 'b', 'c']) await cell.stop(name);
    for (const [place, name] of names.entries()) await damage(cell, name, `value-${11 + 3 * place}`);
    for (const name of names) await cell.start(name);
    await cell.ready();
    const reader = await cell.connect(...names);
    for (let at = 10; at < 20; at += 1) {
      const { value } = await reader.get(`k${at}`, { timeoutMs: 20_000 });
      expect(new TextDecoder().decode(value)).toBe(`value-${at}`);
    }
  });
});
