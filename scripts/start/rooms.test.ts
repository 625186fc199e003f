import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { bundle } from '../bundle.mjs';

const LONG_MS = 300_000;

interface Demo {
  playRooms(options: { server: string; write(line: string): void; signal: AbortSignal }): Promise<{
    readonly said: number;
    readonly heard: ReadonlyMap<string, readonly { readonly text: string }[]>;
  }>;
}

it('a room over WebSocket goes on at another server: each line is heard by both persons, once', async () => {
  const written: string[] = [];
  const server = await bundle('examples/rooms/server.ts');
  const demo = (await import(pathToFileURL(await bundle('examples/rooms/demo.ts')).href)) as Demo;
  const { said, heard } = await demo.playRooms({
    ...{ server, write: (line) => written.push(line), signal: AbortSignal.timeout(LONG_MS) },
  });
  expect(said).toBe(10);
  for (const lines of heard.values())
    expect(lines.map(({ text }) => text).sort()).toEqual(
      Array.from({ length: said }, (_, at) => `line ${at + 1}`).sort(),
    );
  const places = written.flatMap((line) => /is in the kitchen at (\S+)$/.exec(line)?.[1] ?? []);
  expect(new Set(places).size).toBe(2);
});
