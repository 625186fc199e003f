import { expect, it } from 'vitest';
import type { Application } from './application.ts';
import { initialConfiguration } from './configuration.ts';
import type { Context } from './context.ts';
import type { Message } from './messages.ts';
import { batch, put } from './operation.ts';
import { DEFAULT_LIMITS } from './options.ts';
import type { SnapshotPart } from './snapshot.ts';
import { StateMachine } from './state-machine.ts';
import { Outgoing, Saving } from './transfer.ts';

const SLOT = 1;
const BALLOT = 33;
const KEYS = 40;

/** A leader with forty keys, and a replica without any whose disk is quick. */
function bench() {
  const machine = new StateMachine(0, DEFAULT_LIMITS);
  const rest = { session: 0, number: 0, answeredBelow: 0, origin: 'a', life: 1 };
  const requests = Array.from({ length: KEYS }, (_, id) => ({
    ...{ ...rest, id, command: put(`k${id}`, new Uint8Array(100)) },
  }));
  machine.apply(SLOT, batch(requests));
  const configuration = initialConfiguration([], { mode: 'all' });
  const log = { committed: SLOT, configurationAt: () => configuration };
  const outgoing = () => new Outgoing({ machine, log, limits: DEFAULT_LIMITS } as unknown as Context, 1_000);

  const asked: Message[] = [];
  const installed: number[] = [];
  const saving = new Saving({
    ...{ log: { chosen: 0 }, limits: DEFAULT_LIMITS, save: () => {} },
    send: (_to: string, message: Message) => asked.push(message),
  } as unknown as Context);
  const application = {
    install: (_slot: number, _configuration: unknown, copy: StateMachine) => installed.push(copy.keys),
  } as unknown as Application;
  const receive = (part: SnapshotPart): number => {
    saving.receive('a', BALLOT, part);
    saving.saved(application);
    const last = asked.at(-1);
    return last?.kind === 'installing' ? last.next : expect.unreachable();
  };
  return { outgoing, receive, installed };
}

/** Goes on until the snapshot is here, if the two understand each other. */
function play(sender: Outgoing, receive: (part: SnapshotPart) => number, parts: number): void {
  for (let count = 0; count < parts; count += 1) {
    const next = receive(sender.part);
    if (!sender.part.isLast) expect(sender.advance(next)).toBe(true);
  }
}

it('a snapshot arrives whole, although its sender forgot it on the way and began again as of the same slot', () => {
  const { outgoing, receive, installed } = bench();
  play(outgoing(), receive, 3);
  expect(installed).toEqual([]);
  play(outgoing(), receive, 5);
  expect(installed).toEqual([KEYS]);
});

it('a snapshot is asked for from its beginning, if its sender is further than its receiver', () => {
  const { outgoing, receive } = bench();
  const sender = outgoing();
  play(sender, receive, 2);
  const late = outgoing();
  receive(late.part);
  expect(sender.part.first).toBeGreaterThan(late.part.first + late.part.values.length);
  expect(receive(sender.part)).toBe(0);
});
