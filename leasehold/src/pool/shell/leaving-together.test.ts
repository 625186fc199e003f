import { expect, it } from 'vitest';
import { joinPool } from './owner/join-pool.ts';
import { startManager } from './manager/start-manager.ts';

it('owners that leave together are told of as having left, and what they had as given back', async () => {
  await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
  const managers = [manager.address];
  const join = (name: string) => joinPool({ managers, pool: 'presence', name, url: `http://${name}` });
  await using _ = await join('a');
  const others = await Promise.all(['b', 'c', 'd', 'e'].map(join));
  await Promise.all(others.map((owner) => owner.close()));
  const events = manager.source.events.recent(1_000);
  const left = events.flatMap((event) => (event.kind === 'pool.left' ? [event.why] : []));
  expect(left).toEqual(['left', 'left', 'left', 'left']);
  expect(events.filter((event) => event.kind === 'pool.lost' && !event.isPlanned)).toEqual([]);
});
