import { describe, expect, it } from 'vitest';
import { initialConfiguration } from './configuration.ts';
import type { Frame } from './journal.ts';
import { batch } from './operation.ts';
import { recover } from './recovery.ts';
import type { Snapshot } from './snapshot.ts';

const operation = batch([]);

/** A frame with the slots from `first` to `last`, accepted under one ballot. */
function frame(first: number, last: number, rest: Partial<Frame> = {}): Frame {
  const entries = Array.from({ length: Math.max(0, last - first + 1) }, () => ({ ballot: 33, operation }));
  return {
    ...{ promised: 33, chosen: 0, committed: 0, lastBefore: first - 1, holdMs: 0, first, entries },
    ...{ votes: 0, heard: new Map() },
    ...{ truncateTo: Number.POSITIVE_INFINITY, base: undefined, ...rest },
  };
}

describe('a replica that starts', () => {
  it('knows the entries, the promised ballot and the marks of its frames', () => {
    const recovery = recover([
      frame(1, 3),
      frame(4, 5, { chosen: 3, committed: 2, promised: 65, holdMs: 70 }),
    ]);
    expect(recovery).toMatchObject({
      kind: 'recovered',
      state: { promised: 65, chosen: 3, committed: 2, holdMs: 70, missing: [] },
    });
    expect(recovery.kind === 'recovered' && recovery.state.entries).toHaveLength(5);
  });

  it('knows how many votes of the other members it had heard of, by the last frame', () => {
    const heard = new Map([['b', 7]]);
    const recovery = recover([frame(1, 3), frame(4, 5, { heard })]);
    expect(recovery.kind === 'recovered' && recovery.state.heard).toEqual(heard);
  });

  it('drops what a later leader cut off before it wrote its own entries', () => {
    const recovery = recover([frame(1, 5), frame(3, 3, { truncateTo: 2, lastBefore: 5 })]);
    expect(recovery.kind === 'recovered' && recovery.state.entries).toHaveLength(3);
  });

  it('takes a damaged end for a torn one: nobody has heard of it', () => {
    const recovery = recover([frame(1, 3), 'damaged', 'damaged']);
    expect(recovery.kind === 'recovered' && recovery.state.entries).toHaveLength(3);
  });

  it('fetches what a damaged frame can have held if all of it is known to be chosen', () => {
    const recovery = recover([
      frame(1, 2, { chosen: 1 }),
      'damaged',
      frame(6, 6, { lastBefore: 5, chosen: 5 }),
    ]);
    expect(recovery).toMatchObject({ kind: 'recovered', state: { missing: [{ first: 2, last: 5 }] } });
  });

  it('tells several damaged frames apart, and fetches nothing of what lies between them', () => {
    const recovery = recover([
      frame(1, 2, { chosen: 1 }),
      'damaged',
      frame(5, 40, { lastBefore: 4, chosen: 4 }),
      frame(41, 41, { chosen: 40 }),
      'damaged',
      frame(44, 44, { lastBefore: 43, chosen: 43 }),
    ]);
    const missing = [
      { first: 2, last: 4 },
      { first: 41, last: 43 },
    ];
    expect(recovery).toMatchObject({ kind: 'recovered', state: { missing } });
  });

  it('fetches as one span what two damaged frames can both have held', () => {
    const recovery = recover([
      frame(1, 2, { chosen: 1 }),
      'damaged',
      frame(5, 6, { lastBefore: 4, chosen: 2 }),
      'damaged',
      frame(9, 9, { lastBefore: 8, chosen: 8 }),
    ]);
    expect(recovery).toMatchObject({ kind: 'recovered', state: { missing: [{ first: 2, last: 8 }] } });
  });

  it('fetches what the first of two damaged frames can have replaced, although older entries are there', () => {
    const recovery = recover([
      frame(1, 4, { chosen: 1 }),
      'damaged', // It may have replaced slots 2 to 4.
      frame(5, 5, { lastBefore: 4, chosen: 4 }),
      'damaged',
      frame(7, 7, { lastBefore: 6, chosen: 6 }),
    ]);
    expect(recovery).toMatchObject({ kind: 'recovered', state: { missing: [{ first: 2, last: 6 }] } });
  });

  it('fetches a slot that no frame has, if it is known to be chosen, and gives up its storage id if not', () => {
    const gap = (chosen: number) => recover([frame(1, 2), frame(4, 5, { base: 3, chosen })]);
    expect(gap(3)).toMatchObject({ kind: 'recovered', state: { missing: [{ first: 3, last: 3 }] } });
    expect(gap(2)).toEqual({ kind: 'votes-lost' });
  });

  it('gives up its storage id if a damaged frame may have held votes that are not known to be chosen', () => {
    const frames = [
      frame(1, 2, { chosen: 1 }),
      'damaged' as const,
      frame(6, 6, { lastBefore: 5, chosen: 4 }),
    ];
    expect(recover(frames)).toEqual({ kind: 'votes-lost' });
  });

  it('keeps the promised ballot that a damaged frame held, because the next frame repeats it', () => {
    const frames = [
      frame(1, 2, { chosen: 2 }),
      'damaged' as const,
      frame(3, 2, { lastBefore: 2, chosen: 2, promised: 97 }),
    ];
    expect(recover(frames)).toMatchObject({ kind: 'recovered', state: { promised: 97, missing: [] } });
  });

  it('needs nothing from before a frame with every entry', () => {
    const whole = frame(1, 4, { base: 0, chosen: 4 });
    const recovery = recover([frame(1, 2), 'damaged', whole]);
    expect(recovery).toMatchObject({ kind: 'recovered', state: { missing: [] } });
    expect(recovery.kind === 'recovered' && recovery.state.entries).toHaveLength(4);
  });

  const snapshot: Snapshot = {
    slot: 2,
    configuration: initialConfiguration([], { mode: 'all' }),
    state: { values: [], sessions: [] },
  };

  it('begins with the newest frame whose snapshot is there, and keeps the entries after the snapshot', () => {
    const frames = [frame(1, 2), 'damaged' as const, frame(3, 4, { base: 2, chosen: 2 }), frame(5, 5)];
    const recovery = recover(frames, new Map([[2, snapshot]]));
    expect(recovery).toMatchObject({ kind: 'recovered', state: { snapshot, missing: [] } });
    expect(recovery.kind === 'recovered' && recovery.state.entries).toHaveLength(3);
  });

  it('uses the whole journal if the snapshot of a frame did not get its name', () => {
    const recovery = recover([frame(1, 2), frame(3, 4, { base: 2, chosen: 2 }), frame(5, 5)]);
    expect(recovery).toMatchObject({ kind: 'recovered', state: { snapshot: undefined } });
    expect(recovery.kind === 'recovered' && recovery.state.entries).toHaveLength(5);
  });

  it('ignores a snapshot of which no frame knows', () => {
    const recovery = recover([frame(1, 4)], new Map([[2, snapshot]]));
    expect(recovery).toMatchObject({ kind: 'recovered', state: { snapshot: undefined } });
    expect(recovery.kind === 'recovered' && recovery.state.entries).toHaveLength(4);
  });
});
