import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { choosePorts } from './ports.ts';

const silent = (): void => {};

/** A port that somebody listens on until it is disposed of. */
async function takenPort(): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

describe('the ports of the demo', () => {
  it('are those that were asked for, if they are free', async () => {
    expect(await choosePorts({ port: 0, httpPort: 0 }, silent)).toEqual({ port: 0, httpPort: 0 });
  });

  it.each([
    ['--port', (port: number) => ({ port, httpPort: 0 })],
    ['--http', (httpPort: number) => ({ port: 0, httpPort })],
  ])('are refused if somebody has them, with the option to change it: %s', async (option, asked) => {
    await using taken = await takenPort();
    await expect(choosePorts(asked(taken.port), silent)).rejects.toMatchObject({
      code: 'PORT_IN_USE',
      message: `port ${taken.port} on 127.0.0.1 is in use; choose another with ${option} (0 for any that is free)`,
    });
  });

  it('are two, not one', async () => {
    await expect(choosePorts({ port: 7500, httpPort: 7500 }, silent)).rejects.toThrow('a port of its own');
  });

  it('are others than the usual ones if somebody has those, and that is said', async () => {
    await using taken = await takenPort();
    const said: string[] = [];
    const ports = await choosePorts({}, (text) => said.push(text), { port: 0, httpPort: taken.port });
    expect(ports).toEqual({ port: 0, httpPort: 0 });
    expect(said).toEqual([
      `Port ${taken.port} is in use, so the demo takes another one (--http chooses which).`,
    ]);
  });

  it('are not the same because one was asked for and is usual for the other', async () => {
    const { port } = await takenPort().then(async (taken) => {
      await taken[Symbol.asyncDispose]();
      return taken;
    });
    expect(await choosePorts({ port }, silent, { port: 0, httpPort: port })).toEqual({ port, httpPort: 0 });
  });
});
