/**
 * The end of the standard input. The parent process holds the other end of a pipe. However the parent dies, by `kill
 * -9` too, the kernel closes that end, and a process that is of no use alone can end.
 */

import process from 'node:process';

export function inputEnd(
  onLine: (line: string) => void = () => {},
): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const end = (): void => controller.abort();
  let rest = '';
  process.stdin
    .setEncoding('utf8')
    .on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine(line);
    })
    .on('end', end)
    .on('close', end)
    .on('error', end);
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      process.stdin.removeAllListeners().destroy();
    },
  };
}
