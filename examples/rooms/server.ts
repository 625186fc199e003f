/**
 * One server with rooms in memory. The server that owns a room has the sockets and the lines of that room; every server tells a
 * client which server that is.
 *
 * Two owners never speak in one room: a line is taken within `guard`, and the sockets of a room are closed before the lease on
 * the room ends (`held.signal`). The client then asks again, and meets the others at the next owner.
 */

import { createServer } from 'node:http';
import process from 'node:process';
import { type HeldKey, httpAnswer, joinPool, connectLookup } from 'leasehold';
import { type WebSocket, WebSocketServer } from 'ws';

export interface ServerConfig {
  readonly name: string;
  readonly port: number;
  readonly managers: readonly string[];
}

const GOING_AWAY = 1001;
const NOT_HERE = 1013;
const LAST_LINES = 50;

const { name, port, managers } = JSON.parse(process.argv[2] ?? '{}') as ServerConfig;
const http = createServer();
const sockets = new WebSocketServer({ server: http, maxPayload: 4_096 });
await new Promise<void>((resolve) => http.listen(port, '127.0.0.1', resolve));

const url = `http://127.0.0.1:${port}`;
const owner = await joinPool({ managers, pool: 'rooms', name, url });
const lookup = await connectLookup({ managers, pool: 'rooms' });
const lines = owner.leasedMap<readonly string[]>();
const people = new Map<string, Set<WebSocket>>();

/** Of `/some%20room`. */
const roomIn = (path = '/'): string => decodeURIComponent(path.slice(1));

/** Which server has the room? Each server can tell. */
http.on('request', async (request, response) => {
  try {
    const found = await lookup.whenFound(roomIn(request.url), { timeoutMs: 5_000 });
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: found.name, url: found.url }));
  } catch (error) {
    const { status, headers, body } = httpAnswer(error) ?? { status: 503, headers: {}, body: 'no owner' };
    response.writeHead(status, headers).end(body);
  }
});

sockets.on('connection', (socket, request) => {
  const room = roomIn(request.url);
  socket.on('error', () => socket.terminate());
  const held = owner.hold(room);
  if (held === undefined) return socket.close(NOT_HERE, 'another server has this room');
  enter(room, socket, held);
  socket.on('message', (data) => void say(room, socket, String(data)));
});

function enter(room: string, socket: WebSocket, held: HeldKey): void {
  const present = people.get(room) ?? new Set<WebSocket>();
  people.set(room, present.add(socket));
  const leave = (): void => socket.close(GOING_AWAY, 'the room moves to another server');
  held.signal.addEventListener('abort', leave);
  socket.on('close', () => {
    held.signal.removeEventListener('abort', leave);
    held[Symbol.dispose]();
    present.delete(socket);
    if (present.size === 0) people.delete(room);
  });
  for (const line of lines.get(held) ?? []) socket.send(line);
}

async function say(room: string, from: WebSocket, line: string): Promise<void> {
  try {
    await owner.guard(room, (held) => {
      lines.set(held, [...(lines.get(held) ?? []), line].slice(-LAST_LINES));
      for (const socket of people.get(room) ?? []) socket.send(line);
    });
  } catch {
    // The room may have heard the line or not: the client says an unheard line again, under the same number.
    from.close(GOING_AWAY, 'the room moves to another server');
  }
}
