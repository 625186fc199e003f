import { describe, expect, it } from 'vitest';
import { EventLog, type EventReader, type ServiceEvent } from './event-log.ts';

interface TestEvent extends ServiceEvent {
  readonly term?: number;
  readonly pool?: string;
}

const elected = (term: number): TestEvent => ({ kind: 'elected', term });
const joined = (pool: string): TestEvent => ({ kind: 'joined', pool });

function filled(events: number, capacity = 5): EventLog<TestEvent> {
  const log = new EventLog<TestEvent>({ epoch: 'life1', capacity });
  for (let term = 1; term <= events; term += 1) log.append([elected(term)], 1_000 + term);
  return log;
}

function rest(reader: EventReader<TestEvent>): string[] {
  const read: string[] = [];
  for (let event = reader.next(); event !== undefined; event = reader.next()) {
    read.push('after' in event ? `gap after ${event.after}` : event.id);
  }
  return read;
}

describe('an event log', () => {
  it('gives every event an id that names this incarnation, and the time', () => {
    expect(filled(1).recent(10)).toEqual([{ id: 'life1-1', atMs: 1_001, kind: 'elected', term: 1 }]);
  });

  it('keeps no more than its capacity, however it is asked', () => {
    for (const events of [6, 10, 11, 12, 23]) {
      const log = filled(events);
      expect(log.recent(100).map(({ id }) => id)).toHaveLength(5);
      expect(log.recent(2).at(-1)?.id).toBe(`life1-${events}`);
      expect(rest(log.read({ after: 'life1-0' }))).toHaveLength(6);
    }
    expect(filled(3).recent(0)).toEqual([]);
  });

  it('lets a reader go on after the event it saw last', () => {
    expect(rest(filled(4).read({ after: 'life1-2' }))).toEqual(['life1-3', 'life1-4']);
    expect(rest(filled(4).read({ after: 'life1-4' }))).toEqual([]);
    expect(rest(filled(4).read({ after: 'life1-0' }))).toHaveLength(4);
  });

  it('begins with what happens next for a reader that shows nothing', () => {
    const log = filled(4);
    const reader = log.read();
    expect(rest(reader)).toEqual([]);
    log.append([elected(9)], 0);
    expect(rest(reader)).toEqual(['life1-5']);
  });

  it.each(['life1-1', 'life2-7', 'life1-9', 'life1', 'life1-2-3', 'life1-x', '', '-'])(
    'tells a reader that shows %j of a gap, and then everything it has',
    (after) => {
      expect(rest(filled(8).read({ after }))).toEqual([
        `gap after ${after}`,
        'life1-4',
        'life1-5',
        'life1-6',
        'life1-7',
        'life1-8',
      ]);
    },
  );

  it('tells a reader that is overtaken of a gap, once, and keeps nothing for it', () => {
    const log = filled(1);
    const reader = log.read({ after: 'life1-0' });
    expect(reader.next()).toMatchObject({ id: 'life1-1' });
    for (let term = 2; term <= 40; term += 1) log.append([elected(term)], 0);
    expect(rest(reader)).toEqual(['gap after life1-1', ...[36, 37, 38, 39, 40].map((n) => `life1-${n}`)]);
    log.append([elected(41)], 0);
    expect(rest(reader)).toEqual(['life1-41']);
  });

  it('shows a reader with a filter the events that pass it', () => {
    const log = new EventLog<TestEvent>({ epoch: 'life1' });
    log.append([joined('p'), joined('q'), elected(1)], 0);
    const without = (other: string) => (event: TestEvent) => event.pool !== other;
    expect(rest(log.read({ after: 'life1-0', filter: without('q') }))).toEqual(['life1-1', 'life1-3']);
    expect(log.recent(9, without('p')).map(({ id }) => id)).toEqual(['life1-2', 'life1-3']);
  });

  it('wakes its readers until they are disposed of', () => {
    const log = new EventLog<TestEvent>({ epoch: 'life1' });
    let woken = 0;
    const reader = log.read({ onMore: () => (woken += 1) });
    log.append([], 0);
    log.append([joined('p'), joined('p')], 0);
    expect([woken, log.readers]).toEqual([1, 1]);
    reader[Symbol.dispose]();
    log.append([joined('p')], 0);
    expect([woken, log.readers]).toEqual([1, 0]);
  });

  it('is followed until the signal, and lets its reader go', async () => {
    const log = filled(2);
    const over = new AbortController();
    const told: string[] = [];
    const following = (async () => {
      for await (const event of log.follow({ after: 'life1-1', signal: over.signal })) {
        told.push('id' in event ? event.id : event.kind);
        if (told.length === 1) log.append([elected(3)], 3_000);
        if (told.length === 2) over.abort();
      }
    })();
    await following;
    expect(told).toEqual(['life1-2', 'life1-3']);
    expect(log.readers).toBe(0);
  });

  it('lets the reader go when the loop that follows it is left', async () => {
    const log = filled(2);
    for await (const event of log.follow({ after: 'life1-0' })) {
      expect([event.kind, log.readers]).toEqual(['elected', 1]);
      break;
    }
    expect(log.readers).toBe(0);
  });
});
