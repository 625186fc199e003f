import { describe, expect, it } from 'vitest';
import { Random } from '../../sim/random.ts';
import { type Attachment, sortedByName } from './attachment.ts';
import { applyDifference, type ClientView, ViewHistory } from './view-difference.ts';

const server = (name: string) => ({ name, incarnation: { startedMs: 1, nonce: 1 } });
const client = (name: string, count: number): Attachment => ({ ...server(name), count });

/** A view with some of twenty clients, some of them attached anew. */
const drawn = (random: Random, id: number): ClientView => ({
  id: String(id),
  servers: ['a', 'b', 'c'].filter(() => random.chance(0.7)).map(server),
  clients: sortedByName(
    Array.from({ length: 20 }, (_, index) => `x${index}`)
      .filter(() => random.chance(0.6))
      .map((name) => client(name, random.chance(0.2) ? id : 1)),
  ),
});

describe('views as differences', () => {
  it('are what the server has, however old the view is that the client holds', () => {
    const random = new Random(7);
    const history = new ViewHistory();
    const views: (ClientView | undefined)[] = [undefined];
    for (let number = 1; number <= 200; number += 1) {
      const view = drawn(random, number);
      history.add(view);
      views.push(view);
      expect(history.number).toBe(number);
      for (let held = Math.max(0, number - 10); held <= number; held += 1) {
        const difference = history.differenceTo(held);
        expect(applyDifference(difference.base === undefined ? undefined : views[held], difference)).toEqual(
          view,
        );
      }
    }
  });

  it('name only what changed, and are whole for a client that holds a view which is forgotten', () => {
    const history = new ViewHistory();
    const clients = [client('x', 1), client('y', 1)];
    const view = { id: '1', servers: [server('a')], clients };
    history.add(view);
    history.add({ ...view, id: '2', clients: [client('x', 2), client('z', 1)] });
    expect(history.differenceTo(1)).toEqual({
      ...{ id: '2', base: 1, servers: [], clients: [client('x', 2), client('z', 1)] },
      ...{ serversGone: [], clientsGone: ['y'] },
    });
    for (let number = 3; number <= 9; number += 1) history.add({ ...view, id: String(number) });
    expect(history.differenceTo(1)).toMatchObject({ base: undefined, clients });
    expect(history.differenceTo(2)).toMatchObject({ base: 2, clientsGone: ['z'] });
    expect(history.differenceTo(99).base).toBeUndefined();
  });
});
