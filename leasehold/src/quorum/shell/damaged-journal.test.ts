import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { LogFacts } from '../../runtime/logger.ts';
import { TestCell } from './testing/cells.ts';

const eventually = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 20_000, interval: 5 });

/** Changes one byte of the value that begins so, where the journal has it. */
async function damage(cell: TestCell, name: string, beginning: string): Promise<void> {
  const files = (await readdir(cell.directory(name))).filter((each) => each.endsWith('.journal'));
  for (const file of files) {
    const path = join(cell.directory(name), file);
    const at = (await readFile(path)).indexOf(beginning);
    if (at < 0) continue;
    await using handle = await open(path, 'r+');
    await handle.write(new TextEncoder().encode('!'), 0, 1, at);
    return;
  }
  expect.unreachable(`no journal of ${name} has ${beginning}`);
}

const VALUES = 24;
const VALUE_BYTES = 256 * 1024;
const contentOf = (at: number): string => `value ${at} `.padEnd(VALUE_BYTES, '.');

describe('a journal with two damaged bytes that lie far apart', () => {
  it('is repaired with the two damaged slots alone, and the other replicas go on writing meanwhile', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a', 'b');
    for (let at = 0; at < VALUES; at += 1) await client.put(`k${at}`, contentOf(at), { timeoutMs: 20_000 });
    await client.put('k', 'the end', { timeoutMs: 20_000 });
    const written = (await client.put('k', 'later', { timeoutMs: 20_000 })).revision;
    await eventually(() => {
      const { committed } = cell.replicas.get('c')?.status().log ?? { committed: 0 };
      expect(committed).toBeGreaterThanOrEqual(Math.floor(written / 4_096));
    });
    await cell.stop('c');
    await damage(cell, 'c', 'value 2 ');
    await damage(cell, 'c', `value ${VALUES - 3} `);

    let writes = 0;
    const writing = new AbortController();
    const others = (async (): Promise<void> => {
      for (; !writing.signal.aborted; writes += 1)
        await client.put('w', String(writes), { timeoutMs: 20_000 });
    })();
    const facts: LogFacts[] = [];
    const info = (message: string, said?: LogFacts): void => {
      if (message.startsWith('the slots that the disk had lost were fetched')) facts.push(said ?? {});
    };
    const none = (): void => {};
    const c = await cell.start('c', { logger: { debug: none, info, warn: none, error: none } });
    await c.ready();
    const before = writes;
    await eventually(() => expect(writes).toBeGreaterThan(before));
    writing.abort();
    await others;

    expect(c.status().repair).toBeUndefined();
    expect(facts).toHaveLength(1);
    const bytes = Number(facts[0]?.['bytes']);
    expect(bytes).toBeGreaterThan(2 * VALUE_BYTES - 1_024);
    expect(bytes).toBeLessThan(6 * VALUE_BYTES);
    for (const at of [2, VALUES - 3]) {
      const found = await (await cell.connect('c')).get(`k${at}`, { timeoutMs: 20_000 });
      expect(new TextDecoder().decode(found.value)).toBe(contentOf(at));
    }
  });

  it('shows how much of what was lost is here again, and from whom', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a', 'b', 'c');
    for (const at of [0, 1, 2]) await client.put(`k${at}`, `small ${at}`, { timeoutMs: 20_000 });
    await eventually(() => expect(cell.replicas.get('c')?.status().log.committed).toBeGreaterThan(3));
    for (const name of ['a', 'b', 'c']) await cell.stop(name);
    await damage(cell, 'c', 'small 1');
    await damage(cell, 'b', 'small 1');
    await cell.start('c');
    await cell.start('b'); // It has lost the same slot: neither of the two can send it.
    const c = cell.replicas.get('c') ?? expect.unreachable();
    await eventually(() => expect(c.status().repair?.from).toBeDefined());
    const { repair, role } = c.status();
    expect(role).toBe('repairing');
    expect(repair?.slots).toBeGreaterThan(0);
    expect(repair?.fetchedSlots).toBe(0);
    await cell.start('a');
    await cell.ready();
    expect(c.status().repair).toBeUndefined();
  });
});
