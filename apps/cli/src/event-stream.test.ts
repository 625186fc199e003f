import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ManagerApi } from './api.ts';
import { followEvents, StreamParser } from './event-stream.ts';

describe('a stream of events', () => {
  it('is read whatever pieces it comes in', () => {
    const text =
      'retry: 1000\n\n: heartbeat\n\nid: e-1\nevent: joined\ndata: {"a":1}\n\ndata: x\r\ndata: y\r\n\r\n';
    const expected = [
      { id: 'e-1', event: 'joined', data: '{"a":1}' },
      { id: undefined, event: 'message', data: 'x\ny' },
    ];
    expect(new StreamParser().push(text)).toEqual(expected);
    const parser = new StreamParser();
    expect([...text].flatMap((piece) => parser.push(piece))).toEqual(expected);
  });

  it('goes on after the last event that was seen when the connection breaks, or what comes is none', async () => {
    const asked: (string | undefined)[] = [];
    const answers: ((response: ServerResponse) => void)[] = [
      (response) => response.end('id: e-1\ndata: {"kind":"a"}\n\ndata: null\n\n'),
      (response) => response.destroy(),
      (response) => response.write('id: e-2\ndata: {"kind":"b"}\n\n'),
    ];
    const server = createServer((request, response) => {
      asked.push(request.headers['last-event-id'] as string | undefined);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      answers.shift()?.(response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const stop = new AbortController();
    const [kinds, states]: [string[], string[]] = [[], []];
    const api = new ManagerApi(`http://127.0.0.1:${port}`, 'leasehold');
    for await (const event of followEvents({
      ...{ api, after: 'e-0', signal: stop.signal },
      onState: (state) => states.push(state),
    })) {
      kinds.push(event.kind);
      if (kinds.length === 2) stop.abort();
    }
    expect(kinds).toEqual(['a', 'b']);
    expect(asked).toEqual(['e-0', 'e-1', 'e-1']);
    expect(states.slice(0, 2)).toEqual(['lost', 'back']);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('gives up at once if nobody was ever there', async () => {
    const api = new ManagerApi('http://127.0.0.1:1', 'leasehold');
    const events = followEvents({ api, signal: new AbortController().signal });
    await expect(events.next()).rejects.toMatchObject({ code: 'UNREACHABLE' });
  });
});
