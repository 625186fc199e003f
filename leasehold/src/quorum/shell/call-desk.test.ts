import { expect, it } from 'vitest';
import type { Operation } from '../core/operation.ts';
import type { Found } from '../core/result.ts';
import type { Call, Reply } from '../wire/calls.ts';
import { CallDesk, Caller } from './call-desk.ts';
import { ChangeHistory } from './change-history.ts';
import type { ReplicaHost } from './replica-host.ts';
import { Watch } from './watch.ts';

it('begins a live watch anew when a snapshot contains changes that the watch was not told', async () => {
  let values: Found[] = [];
  const history = new ChangeHistory(5, {
    changed: (changes) => desk.changed(changes),
    skipped: (position) => desk.skipped(position),
  });
  const replica = { view: { machine: { snapshotAt: () => ({ values }) } } };
  const desk: CallDesk = new CallDesk({
    host: { history, replica } as unknown as ReplicaHost,
    status: () => '',
    storagesOf: () => [],
    isConnected: () => true,
    addressOf: () => undefined,
  });
  const replies: Reply[] = [];
  const calls: Call[] = [];
  const caller = new Caller((given) => replies.push(...given));
  const watch = new Watch(
    { prefix: '' },
    { send: (call) => calls.push(call), renumber: () => 1, refused: () => {}, ended: () => {} },
  );
  const travel = (): void => {
    while (calls.length + replies.length > 0) {
      desk.take(caller, calls.splice(0));
      for (const reply of replies.splice(0)) watch.heard(reply);
    }
  };
  travel();
  expect(await watch.next()).toMatchObject({ value: { position: 5, isWhole: true, changes: [] } });

  values = [{ key: 'k', value: Uint8Array.of(1), revision: 8 }];
  history.show(10, { kind: 'configuration' } as Operation, []); // Waits for slot 9, which the snapshot contains.
  history.installed(9);
  travel();
  expect(desk.watches).toBe(1);
  const next = await Promise.race([watch.next(), 'nothing was told']);
  expect(next).toMatchObject({ value: { position: 10, isWhole: true, changes: values } });
});
