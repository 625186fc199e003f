import { expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import type { Attachment } from './attachment.ts';
import { Client, type ClientEffect } from './client.ts';
import { resolveDurations } from './durations.ts';
import type { Answer, Refusal, Stamp, ViewForClient } from './messages.ts';

const PLACE = '10.0.0.1:7700';
const incarnation = { startedMs: 1_000, nonce: 1 };

function attached(): { core: Client; client: Attachment } {
  const durations = resolveDurations();
  const core = new Client(
    { name: 'x', incarnation, places: [PLACE], durations, random: () => 0.5 },
    instant(0),
  );
  core.wake(instant(0));
  return { core, client: stampOf(core.connected(PLACE, 'a', instant(0))).client };
}

function stampOf(effects: readonly ClientEffect[]): Stamp {
  for (const effect of effects)
    if (effect.do === 'send' && effect.message.kind === 'stamp') return effect.message;
  throw new Error('the client sends no stamp');
}

const viewOf = (client: Attachment, number: number): ViewForClient => ({
  ...{ kind: 'view', client, incarnation, number },
  difference: {
    ...{ id: `view ${number}`, base: undefined, servers: [{ name: 'a', incarnation }], clients: [client] },
    ...{ serversGone: [], clientsGone: [] },
  },
});

const answerOf = (client: Attachment, number: number): Answer => ({
  ...{ kind: 'answer', client, incarnation, number, leaseMs: 1_000 },
  ...{ stamp: instant(0), ownStamp: instant(0) },
});

it('ends when a server has its name', () => {
  const { core, client } = attached();
  const refusal: Refusal = { kind: 'refusal', client, incarnation, reason: 'server-name', by: undefined };
  const effects = core.receive(PLACE, refusal, instant(10));
  expect(effects).toContainEqual({ do: 'name-taken', by: client });
});

it('does not go back to a view that comes late, so a late answer for that view gives nothing', () => {
  const { core, client } = attached();
  core.receive(PLACE, viewOf(client, 1), instant(10));
  core.receive(PLACE, answerOf(client, 1), instant(20));
  expect(core.standing(instant(21))).toBe('acts');
  core.receive(PLACE, viewOf(client, 2), instant(30));
  core.receive(PLACE, viewOf(client, 1), instant(40));
  core.receive(PLACE, answerOf(client, 1), instant(50));
  expect([core.view?.id, core.standing(instant(51))]).toEqual(['view 2', 'none']);
});

it('takes a higher incarnation when an earlier process of its name had a higher one', () => {
  const { core, client } = attached();
  const by = { name: 'x', incarnation: { startedMs: 9_000, nonce: 7 }, count: 3 };
  const refusal: Refusal = { kind: 'refusal', client, incarnation, reason: 'outbid', by };
  core.receive(PLACE, refusal, instant(10));
  const next = stampOf(core.connected(PLACE, 'a', instant(10))).client;
  expect(next.incarnation.startedMs).toBeGreaterThanOrEqual(9_000);
  expect(next.incarnation).not.toEqual(by.incarnation);
});

it('says the greatest number of its views to the next server, before that server lists it', () => {
  const { core, client } = attached();
  const view = viewOf(client, 1);
  core.receive(
    PLACE,
    { ...view, difference: { ...view.difference, id: '00000003o.0000000007b.0011' } },
    instant(10),
  );
  core.connectionBroke(PLACE, instant(20));
  core.wake(instant(100));
  const next = stampOf(core.connected(PLACE, 'a', instant(110)));
  expect([next.client.count, next.greatestNumber]).toEqual([2, 132]);
});

it('says nothing to a place before the connection has told which server is there', () => {
  const core = new Client(
    { name: 'x', incarnation, places: [PLACE], durations: resolveDurations(), random: () => 0.5 },
    instant(0),
  );
  expect(core.wake(instant(0))).toEqual([{ do: 'dial', place: PLACE }]);
  expect(core.wake(core.wakeAt ?? instant(0)).filter((effect) => effect.do === 'send')).toEqual([]);
  expect(core.connectionBroke(PLACE, instant(2_000)).filter((effect) => effect.do === 'send')).toEqual([]);
  core.wake(instant(10_000));
  expect(core.connected('elsewhere:1', 'b', instant(10_000))).toEqual([]);
  expect(stampOf(core.connected(PLACE, 'b', instant(10_000))).to).toBe('b');
});
