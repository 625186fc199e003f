import { expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { Clients } from './clients.ts';
import { resolveDurations } from './durations.ts';
import { membershipOf } from './incarnation.ts';
import type { Stamp, ToClient } from './messages.ts';

const incarnation = { startedMs: 1, nonce: 1 };

function clientsOf(isServer: (name: string) => boolean): { clients: Clients; sent: ToClient[] } {
  const sent: ToClient[] = [];
  const clients = new Clients(resolveDurations(), {
    ...{
      name: 'a',
      incarnation: () => incarnation,
      hasView: () => true,
      isOfUse: () => true,
      actsUntil: () => undefined,
    },
    listedElsewhere: () => ({ highest: undefined, count: 0 }),
    isServer,
    sendToClient: (_route, message) => sent.push(message),
  });
  return { clients, sent };
}

const stampAt = (ms: number): Stamp => ({
  ...{ kind: 'stamp', client: { name: 'x', incarnation, count: 1 }, to: 'a', stamp: instant(ms) },
  ...{ server: incarnation, echo: undefined, holds: 0, greatestNumber: 0, isCountable: true },
});

const refusals = (sent: readonly ToClient[]): string[] =>
  sent.flatMap((message) => (message.kind === 'refusal' ? [message.reason] : []));

it('sends a view again to a client that does not say to hold the view', () => {
  const { clients, sent } = clientsOf(() => false);
  const members = membershipOf([{ name: 'a', incarnation, listVersion: 0 }]);
  const numbers = { greatestNumber: 1, sumOfNumbers: 1 };
  clients.delivered({ ...members, ...numbers, id: '1', kept: [], clients: [], parts: new Map() }, instant(0));
  for (const ms of [1, 501]) clients.receive('route', stampAt(ms), instant(ms));
  expect(sent.filter(({ kind }) => kind === 'view')).toHaveLength(2);
});

it('refuses a client that has the name of a server', () => {
  const { clients, sent } = clientsOf((name) => name === 'x');
  clients.receive('route', stampAt(1), instant(1));
  expect(refusals(sent)).toEqual(['server-name']);
  expect(clients.count).toBe(0);
});

it('drops a client when a server of that name appears', () => {
  const servers = new Set<string>();
  const { clients, sent } = clientsOf((name) => servers.has(name));
  clients.receive('route', stampAt(1), instant(1));
  clients.beat(instant(2));
  expect([refusals(sent), clients.count]).toEqual([[], 1]);
  servers.add('x');
  clients.beat(instant(3));
  expect([refusals(sent), clients.count]).toEqual([['server-name'], 0]);
});
