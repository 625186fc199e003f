import { describe, expect, it } from 'vitest';
import { encodeMessage, decodeMessage } from '../wire/messages.ts';
import {
  AUTOMATIC,
  type Configuration,
  initialConfiguration,
  OBJECTS_MAX,
  type ReaderMapChange,
  resolved,
} from './configuration.ts';

const members = ['a', 'b', 'c'].map((storage, seat) => ({ storage, seat }));
const first = initialConfiguration(members, AUTOMATIC);

const objectsOf = ({ placement }: Configuration): ReadonlyMap<number, number> =>
  placement.mode === 'chosen' ? placement.objects : new Map();

const change = (from: number, count: number, mask: number | undefined): ReaderMapChange => ({
  ...{ mode: 'changed', slices: undefined, weight: undefined },
  objects: new Map(Array.from({ length: count }, (_, at) => [from + at, mask])),
});

describe('the tables of a configuration', () => {
  const changes = [change(0, 40_000, 1), change(40_000, 40_000, 1), change(0, 1, 3), change(1, 2, undefined)];
  const configuration = resolved(
    first,
    changes.map((placement) => ({ ...first, placement })),
  );

  it('never have more than 65,536 objects, whatever changes follow each other', () => {
    const objects = objectsOf(configuration);
    expect(objects.size).toBe(OBJECTS_MAX - 2);
    expect([objects.get(0), objects.get(1), objects.get(OBJECTS_MAX - 1)]).toEqual([3, undefined, 1]);
    const more = resolved(configuration, [{ ...first, placement: change(90_000, 5, 1) }]);
    expect(objectsOf(more).size).toBe(OBJECTS_MAX);
    expect(objectsOf(more).has(90_001)).toBe(true);
    expect(objectsOf(more).has(90_002)).toBe(false);
  });

  it('can be read again as a whole when they are full', () => {
    const ballot = 5;
    const operations = [{ kind: 'configuration', configuration } as const];
    const accept = {
      kind: 'accept',
      ballot,
      merged: 0,
      first: 1,
      operations,
      chosen: 0,
      committed: 0,
    } as const;
    expect(decodeMessage(encodeMessage(accept))).toEqual(accept);
  });
});
