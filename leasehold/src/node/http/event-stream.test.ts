import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameEvent } from './event-stream.ts';
import type { ServerSentEvent } from './exchange.ts';

/** Reads one frame as the standard says a browser does. */
function parse(frame: string): ServerSentEvent {
  let id: string | undefined;
  let event = 'message';
  const data: string[] = [];
  expect(frame.endsWith('\n\n')).toBe(true);
  for (const line of frame.slice(0, -2).split(/\r\n|\r|\n/)) {
    const colon = line.indexOf(':');
    const [field, value] = [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    if (field === 'id') id = value;
    else if (field === 'event') event = value;
    else if (field === 'data') data.push(value);
    else throw new Error(`no field of a frame: ${line}`);
  }
  return { id, event, data: data.join('\n') };
}

describe('a frame of a stream of events', () => {
  it('is what the standard wants', () => {
    expect(frameEvent({ id: 'e-1', event: 'lost', data: '{"a":1}' })).toBe(
      'id: e-1\nevent: lost\ndata: {"a":1}\n\n',
    );
    expect(frameEvent({ id: undefined, event: 'gap', data: 'a\r\nb\n' })).toBe(
      'event: gap\ndata: a\ndata: b\ndata: \n\n',
    );
  });

  it('can be read back, whatever the data is', () => {
    // Every UTF-16 unit, and those that end lines more often than others.
    const unit = fc
      .oneof(fc.nat({ max: 0xffff }), fc.constantFrom(0, 10, 13, 32, 58))
      .map((code) => String.fromCharCode(code));
    const text = fc.string({ unit });
    fc.assert(
      fc.property(text, text, text, (id, event, data) => {
        const read = parse(frameEvent({ id, event, data }));
        expect(read.data).toBe(data.replace(/\r\n|\r/g, '\n'));
        expect(read.id).toBe(id.replace(/[\r\n\0]/g, ' '));
      }),
    );
  });
});
