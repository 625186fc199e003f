/**
 * Three servers with rooms over WebSocket, two persons in one room, and the death of the server that has the room.
 *
 *     npm start -- rooms
 *
 * Each server runs under a supervisor in this process, so its death is known at once and the room is open again at the next
 * owner in milliseconds. All processes end with this process.
 */

import { setTimeout as pause } from 'node:timers/promises';
import process from 'node:process';
import { connectLookup, silent, startManager } from 'leasehold';
import { AsyncDisposableStack } from '../../leasehold/src/runtime/async-disposable-stack.ts';
import { supervise } from 'leasehold/supervisor';
import { freePort } from '../free-port.ts';
import { type Line, Person } from './client.ts';
import type { ServerConfig } from './server.ts';

export interface DemoOptions {
  /** The program of a server, as JavaScript. */
  readonly server: string;
  write(line: string): void;
  readonly signal: AbortSignal;
}

export interface Told {
  readonly said: number;
  /** What each person heard, in order. */
  readonly heard: ReadonlyMap<string, readonly Line[]>;
}

const NAMES = ['room-server-1', 'room-server-2', 'room-server-3'] as const;
const ROOM = 'kitchen';
const LINES_BEFORE = 5;
const LINES_AFTER = 5;
const BETWEEN_LINES_MS = 300;
const LOOK_MS = 20;

class Server implements AsyncDisposable {
  readonly name: string;
  readonly url: string;
  #pid: number | undefined;
  readonly #ended: Promise<unknown>;

  constructor(program: string, config: ServerConfig) {
    this.name = config.name;
    this.url = `http://127.0.0.1:${config.port}`;
    this.#ended = supervise({
      command: process.execPath,
      args: [program, JSON.stringify(config)],
      managers: config.managers,
      onChild: ({ pid }) => (this.#pid = pid),
      logger: silent,
    });
  }

  /** True once: the process that was there is killed. */
  kill(): boolean {
    const pid = this.#pid;
    this.#pid = undefined;
    return pid !== undefined && process.kill(pid, 'SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    await this.#ended;
  }
}

/** While servers join they take rooms from each other, with a loss of what was said there. Resolves when all of them have rooms, and all rooms have a server. */
async function shared(manager: string, signal: AbortSignal): Promise<void> {
  await using lookup = await connectLookup({ managers: [manager], pool: 'rooms', signal, logger: silent });
  const rooms = Array.from({ length: 100 }, (_, index) => `room ${index}`);
  for (;;) {
    const names = rooms.map((room) => lookup.find(room)?.name);
    if (!names.includes(undefined) && new Set(names).size === NAMES.length) return;
    await pause(LOOK_MS, undefined, { signal });
  }
}

/** Resolves when all that was said has been heard by both persons; nothing is left running. */
export async function playRooms({ server, write, signal }: DemoOptions): Promise<Told> {
  const heard = new Map<string, Line[]>([
    ['ada', []],
    ['ben', []],
  ]);
  write(`a Manager and three servers start; Ctrl-C ends them …`);
  await using stack = new AsyncDisposableStack();
  const manager = stack.use(await startManager({ listen: '127.0.0.1:0', firstStart: true, logger: silent }));
  const servers: Server[] = [];
  for (const name of NAMES)
    servers.push(
      stack.use(new Server(server, { name, port: await freePort(), managers: [manager.address] })),
    );
  await shared(manager.address, signal);
  let roomIsAt = '';
  const enter = (name: string, from: number): Person =>
    new Person({
      ...{
        name,
        room: ROOM,
        servers: servers
          .slice(from)
          .concat(servers.slice(0, from))
          .map(({ url }) => url),
      },
      onLine: (line) => {
        heard.get(name)?.push(line);
        if (name !== line.from) write(`  ${name} hears ${line.from}: ${line.text}`);
      },
      onServer: (found) => {
        roomIsAt = found;
        write(`${name} is in the ${ROOM} at ${found}`);
      },
    });
  using ada = enter('ada', 0);
  using ben = enter('ben', 2);
  let said = 0;
  const talk = async (lines: number): Promise<void> => {
    for (let line = 1; line <= lines; line += 1) {
      (said % 2 === 0 ? ada : ben).say(`line ${(said += 1)}`);
      await pause(BETWEEN_LINES_MS, undefined, { signal });
    }
    while ([...heard.values()].some(({ length }) => length < said))
      await pause(LOOK_MS, undefined, { signal });
  };
  try {
    await talk(LINES_BEFORE);
    const dead = servers.find(({ name }) => name === roomIsAt);
    dead?.kill();
    write(`${dead?.name} is killed, with the ${ROOM} in its memory`);
    await talk(LINES_AFTER);
    write(
      `${said} lines were said; both persons heard each of them, once. What a server knew of a room is gone with it:`,
    );
    write(
      'keep in a database what must survive. examples/rooms/server.ts has the server, client.ts the client.',
    );
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return { said, heard };
}
