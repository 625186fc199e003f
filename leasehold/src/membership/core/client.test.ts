import { expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import type { Attachment } from './attachment.ts';
import { Client, type ClientEffect } from './client.ts';
import { resolveDurations } from './durations.ts';
import type { Answer, Refusal, Stamp, ViewForClient } from './messages.ts';

const incarnation = { startedMs: 1_000, nonce: 1 };

function attached(): { core: Client; client: Attachment } {
  const durations = resolveDurations();
  const core = new Client(
    { name: 'x', incarnation, servers: ['a'], durations, random: () => 0.5 },
    instant(0),
  );
  return { core, client: stampOf(core.wake(instant(0))).client };
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
  const effects = core.receive('a', refusal, instant(10));
  expect(effects).toContainEqual({ do: 'name-taken', by: client });
});

it('does not go back to a view that comes late, so a late answer for that view gives nothing', () => {
  const { core, client } = attached();
  core.receive('a', viewOf(client, 1), instant(10));
  core.receive('a', answerOf(client, 1), instant(20));
  expect(core.standing(instant(21))).toBe('acts');
  core.receive('a', viewOf(client, 2), instant(30));
  core.receive('a', viewOf(client, 1), instant(40));
  core.receive('a', answerOf(client, 1), instant(50));
  expect([core.view?.id, core.standing(instant(51))]).toEqual(['view 2', 'none']);
});

it('takes a higher incarnation when an earlier process of its name had a higher one', () => {
  const { core, client } = attached();
  const by = { name: 'x', incarnation: { startedMs: 9_000, nonce: 7 }, count: 3 };
  const refusal: Refusal = { kind: 'refusal', client, incarnation, reason: 'outbid', by };
  const next = stampOf(core.receive('a', refusal, instant(10))).client;
  expect(next.incarnation.startedMs).toBeGreaterThanOrEqual(9_000);
  expect(next.incarnation).not.toEqual(by.incarnation);
});
