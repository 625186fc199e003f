import { expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { Clients } from './clients.ts';
import { resolveDurations } from './durations.ts';
import { membershipOf } from './incarnation.ts';
import type { Stamp, ToClient } from './messages.ts';

it('sends a view again to a client that does not say to hold the view', () => {
  const incarnation = { startedMs: 1, nonce: 1 };
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
    sendToClient: (_route, message) => sent.push(message),
  });
  const members = membershipOf([{ name: 'a', incarnation, listVersion: 0 }]);
  const numbers = { greatestNumber: 1, sumOfNumbers: 1 };
  clients.delivered({ ...members, ...numbers, id: '1', kept: [], clients: [] }, instant(0));
  const stampAt = (ms: number): Stamp => ({
    ...{ kind: 'stamp', client: { name: 'x', incarnation, count: 1 }, to: 'a', stamp: instant(ms) },
    ...{ server: incarnation, echo: undefined, holds: 0, isCountable: true },
  });
  for (const ms of [1, 501]) clients.receive('route', stampAt(ms), instant(ms));
  expect(sent.filter(({ kind }) => kind === 'view')).toHaveLength(2);
});
