import { describe, expect, it } from 'vitest';
import type { Operation } from '../core/operation.ts';
import type { Found } from '../core/result.ts';
import type { Call, Reply } from '../wire/calls.ts';
import { CallDesk, Caller } from './call-desk.ts';
import { ChangeHistory } from './change-history.ts';
import type { ReplicaHost } from './replica-host.ts';
import { Watch } from './watch.ts';

const MIB = 1024 * 1024;

describe('the reader of a watch', () => {
  const begun = (): { watch: Watch; calls: Call[]; tell: (position: number, bytes: number) => void } => {
    const calls: Call[] = [];
    let ids = 0;
    const watch = new Watch(
      { prefix: '' },
      { send: (call) => calls.push(call), renumber: () => (ids += 1), refused: () => {}, ended: () => {} },
    );
    const tell = (position: number, bytes: number): void => {
      const found = [{ key: 'k', value: new Uint8Array(bytes), revision: position }];
      watch.heard({ kind: 'changes', id: ids, position, isWhole: position === 1, found });
    };
    return { watch, calls, tell };
  };

  it('makes the watch pause when 16 MiB wait to be read, and go on when they are read', async () => {
    const { watch, calls, tell } = begun();
    for (let position = 1; position <= 15; position += 1) tell(position, MIB);
    expect(calls.map(({ kind }) => kind)).toEqual(['watch']);
    tell(16, MIB);
    expect(calls.map(({ kind }) => kind)).toEqual(['watch', 'unwatch']);
    for (let position = 1; position <= 16; position += 1)
      expect(await watch.next()).toMatchObject({ value: { position } });
    expect(calls.at(-1)).toMatchObject({ kind: 'watch', from: 16 });
  });

  it('can ask for several changes at once, and gets each of them or the end', async () => {
    const { watch, tell } = begun();
    const asked = [watch.next(), watch.next(), watch.next()];
    tell(1, 1);
    tell(2, 1);
    await watch.return();
    expect(await Promise.all(asked)).toMatchObject([
      { value: { position: 1 } },
      { value: { position: 2 } },
      { done: true },
    ]);
  });
});

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
