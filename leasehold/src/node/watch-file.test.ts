import { mkdtemp, rename, rm, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HandMovedRuntime, until } from './tcp/socket-script.ts';
import { watchFile } from './watch-file.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leasehold-watch-'));
  path = join(folder, 'managers');
});
afterEach(() => rm(folder, { recursive: true }));

function watching() {
  const runtime = new HandMovedRuntime();
  const texts: string[] = [];
  const problems: unknown[] = [];
  const onProblem = (cause: unknown): void => void problems.push(cause);
  const mended: string[] = [];
  const onMended = (text: string): void => void mended.push(text);
  const watch = watchFile(path, runtime, (text) => texts.push(text), { onProblem, onMended });
  /** The file is read once more, to the end. */
  const second = async (): Promise<void> => {
    await until(() => runtime.timers === 1);
    runtime.pass(1_000);
    await until(() => runtime.timers === 1);
  };
  return { runtime, texts, problems, mended, watch, second };
}

describe('a file that is watched', () => {
  it('is told of at first, and when its text has changed', async () => {
    await writeFile(path, 'one');
    const { texts, watch, second } = watching();
    using _ = watch;
    await second();
    await second();
    await writeFile(path, 'two');
    await second();
    expect(texts).toEqual(['one', 'two']);
  });

  it('may be replaced by another with the same size and time', async () => {
    const time = new Date(1_000_000);
    await writeFile(path, 'one');
    await utimes(path, time, time);
    const { texts, watch, second } = watching();
    using _ = watch;
    await second();
    await writeFile(`${path}.new`, 'two');
    await utimes(`${path}.new`, time, time);
    await rename(`${path}.new`, path);
    await second();
    expect(texts).toEqual(['one', 'two']);
  });

  it('may be missing at first, and for a while; then the last text stands', async () => {
    const { texts, problems, mended, watch, second } = watching();
    using _ = watch;
    await second();
    await writeFile(path, 'one');
    await second();
    await unlink(path);
    await second();
    await second();
    await writeFile(path, 'one');
    await second();
    await writeFile(path, 'two');
    await second();
    expect(texts).toEqual(['one', 'two']);
    expect(problems.map((cause) => (cause as NodeJS.ErrnoException).code)).toEqual(['ENOENT', 'ENOENT']);
    expect(mended).toEqual(['one']);
  });

  it('is not read when it is absurdly large', async () => {
    await writeFile(path, 'x'.repeat(2_000_000));
    const { texts, problems, watch, second } = watching();
    using _ = watch;
    await second();
    expect([texts, problems.map(String)]).toEqual([[], [expect.stringContaining('2000000 bytes')]]);
  });

  it('is not watched any more when that was disposed of', async () => {
    await writeFile(path, 'one');
    const { runtime, texts, watch, second } = watching();
    await second();
    watch[Symbol.dispose]();
    expect([runtime.timers, texts]).toEqual([0, ['one']]);
  });
});
