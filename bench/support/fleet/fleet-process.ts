/**
 * Thousands of clients in one process, on the core that the Manager does not have. Commands come over
 * the channel to the parent, one at a time; each is answered when it is done.
 */

import process from 'node:process';
import { nodeRuntime } from '../../../leasehold/src/node/runtime.ts';
import { later } from '../../../leasehold/src/runtime/time.ts';
import { FleetLookup } from './fleet-lookup.ts';
import { FleetOwner } from './fleet-owner.ts';
import type { FleetAnswer, FleetCommand } from './fleet.ts';
import { Line } from './line.ts';

const runtime = nodeRuntime();
const owners: FleetOwner[] = [];
const lookups: FleetLookup[] = [];
let lives = 0;
let supervisor: Line | undefined;
let certified: () => void = () => {};

const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void runtime.wakeAt(later(runtime.now(), ms), resolve));

async function until(what: string, holds: () => boolean): Promise<void> {
  const giveUpAt = later(runtime.now(), 180_000);
  while (!holds()) {
    if (runtime.now() > giveUpAt) throw new Error(`gave up waiting until ${what}`);
    await pause(20);
  }
}

const ownerOf = (port: number, name: string): FleetOwner => new FleetOwner(runtime, port, name, (lives += 1));

/** Look-ups can be with any Manager; owners are with the leader. */
let lookupPorts: readonly number[] = [];

function lookupOf(port: number): FleetLookup {
  lives += 1;
  return new FleetLookup(runtime, lookupPorts[lives % lookupPorts.length] ?? port, `lookup-${lives}`);
}

/** Proves that an owner is dead, as its supervisor would; resolves when the Manager has taken note. */
async function certify(port: number, owner: FleetOwner): Promise<void> {
  if (supervisor === undefined) {
    await new Promise<void>((resolve) => {
      supervisor = new Line(
        port,
        'supervisor',
        () => resolve(),
        () => certified(),
      );
    });
  }
  const done = new Promise<void>((resolve) => (certified = resolve));
  owner.die();
  supervisor?.send({ kind: 'certificate', secret: owner.secret });
  await done;
}

async function grow(port: number, ownersWanted: number, lookupsWanted: number): Promise<void> {
  for (let index = owners.length; index < ownersWanted; index += 1) {
    owners.push(ownerOf(port, `server-${index}`));
    if (index % 250 === 249)
      await until('owners are served', () => owners.every(({ isServing }) => isServing));
  }
  await until('owners are served', () => owners.every(({ isServing }) => isServing));
  while (lookups.length < lookupsWanted) {
    lookups.push(lookupOf(port));
    if (lookups.length % 20 === 0)
      await until('look-ups have tables', () => lookups.every(({ seen }) => seen !== undefined));
  }
  await until('look-ups have tables', () => lookups.every(({ seen }) => seen !== undefined));
}

/** One of all clients dies and comes back, at every such interval, as in a fleet with this mean life. */
async function churn(port: number, everyMs: number, forMs: number): Promise<number> {
  const end = later(runtime.now(), forMs);
  let deaths = 0;
  for (let at = later(runtime.now(), everyMs); at < end; at = later(at, everyMs)) {
    await pause(Math.max(0, at - runtime.now()));
    deaths += 1;
    const index = Math.floor(runtime.random() * (owners.length + lookups.length));
    if (index < owners.length) await restartOwner(port, index);
    else restartLookup(port, index - owners.length);
  }
  await pause(Math.max(0, end - runtime.now()));
  return deaths;
}

async function restartOwner(port: number, index: number): Promise<void> {
  const owner = owners[index];
  if (owner === undefined) return;
  await certify(port, owner);
  owners[index] = ownerOf(port, owner.name);
}

function restartLookup(port: number, index: number): void {
  lookups[index]?.die();
  lookups[index] = lookupOf(port);
}

/** Everybody is restarted once, evenly over the time. */
async function restartAll(port: number, withinMs: number): Promise<void> {
  const startedAt = runtime.now();
  const everyOwner = async (): Promise<void> => {
    for (const index of owners.keys()) {
      await pause(Math.max(0, startedAt + (withinMs * index) / owners.length - runtime.now()));
      await restartOwner(port, index);
    }
  };
  const everyLookup = async (): Promise<void> => {
    for (const index of lookups.keys()) {
      await pause(Math.max(0, startedAt + (withinMs * index) / lookups.length - runtime.now()));
      restartLookup(port, index);
    }
  };
  await Promise.all([everyOwner(), everyLookup()]);
  await until(
    'everybody is back',
    () => owners.every(({ isServing }) => isServing) && lookups.every(({ seen }) => seen !== undefined),
  );
}

/** From showing a death to each look-up having been told of what follows, for every look-up and every time. */
async function spread(port: number, times: number): Promise<number[]> {
  const delays: number[] = [];
  for (let time = 0; time < times; time += 1) {
    const before = lookups.map(({ pushes }) => pushes);
    const toldAll = (): boolean => lookups.every(({ pushes }, index) => pushes > (before[index] ?? 0));
    const index = time % owners.length;
    const at = runtime.now();
    const firstPushAt = new Map<number, number>();
    const note = (): void => {
      for (const [each, { pushes, pushedAt }] of lookups.entries()) {
        if (!firstPushAt.has(each) && pushes > (before[each] ?? 0)) firstPushAt.set(each, pushedAt);
      }
    };
    await certify(port, owners[index] as FleetOwner);
    while (!toldAll()) {
      note();
      await pause(1);
    }
    note();
    for (const told of firstPushAt.values()) delays.push(told - at);
    owners[index] = ownerOf(port, `server-${index}`);
    await until('it is back', () => owners[index]?.isServing === true);
    await pause(500);
  }
  return delays;
}

async function perform(command: FleetCommand): Promise<FleetAnswer> {
  switch (command.do) {
    case 'grow':
      lookupPorts = command.lookupPorts ?? [];
      await grow(command.port, command.owners, command.lookups);
      return {};
    case 'wait':
      await pause(command.ms);
      return {};
    case 'churn':
      return { deaths: await churn(command.port, command.everyMs, command.forMs) };
    case 'restart-all':
      await restartAll(command.port, command.withinMs);
      return {};
    case 'spread':
      return { delaysMs: await spread(command.port, command.times) };
  }
}

// Everybody else talks more often than heartbeats are due.
setInterval(() => supervisor?.heartbeat(), 30_000);

process.on('message', (command: FleetCommand) => {
  void perform(command).then(
    (answer) =>
      process.send?.({
        ...answer,
        bytesIn: [...owners, ...lookups].reduce((sum, { line }) => sum + line.bytesIn, 0),
      }),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
