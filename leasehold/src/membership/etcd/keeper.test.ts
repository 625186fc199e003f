import { describe, expect, it } from 'vitest';
import type { EtcdAnswer, EtcdClient, EtcdRefusalReason } from '../../etcd/client.ts';
import { noFaults, SimulatedEtcdClient } from '../../etcd/simulation/simulated-client.ts';
import { SimulatedEtcd } from '../../etcd/simulation/simulated-etcd.ts';
import { noSpace, refused } from '../../etcd/simulation/simulated-store.ts';
import { silent } from '../../runtime/logger.ts';
import { SimProcess } from '../../sim/process.ts';
import { World } from '../../sim/world.ts';
import { RegistryKeeper } from './keeper.ts';

const PREFIX = 'group/';
const KEY = 'group/s1';
const REGISTRATION_MS = 3_000;

type Method = 'grant' | 'revoke' | 'transact';

/** A process that keeps its registration, on an etcd that refuses what the test says, and counts the requests. */
function scene() {
  const world = new World({ seed: 1 });
  const etcd = new SimulatedEtcd(world);
  const asked = { grant: 0, revoke: 0, transact: 0 };
  const refusals = new Map<Method, EtcdAnswer<never>>();
  const keepers: RegistryKeeper[] = [];
  let incarnations = 0;
  const process = new SimProcess(world, {
    name: 's1',
    start: (runtime) => {
      const client = new SimulatedEtcdClient(etcd, process, runtime, noFaults());
      const troubled = <Asked, T>(
        method: Method,
        ask: (what: Asked, timeoutMs: number, hear: (answer: EtcdAnswer<T>) => void) => void,
      ) => {
        return (what: Asked, timeoutMs: number, hear: (answer: EtcdAnswer<T>) => void): void => {
          asked[method] += 1;
          const refusal = refusals.get(method);
          if (refusal === undefined) ask(what, timeoutMs, hear);
          else world.after(1, () => process.perform(() => hear(refusal)));
        };
      };
      const watched: EtcdClient = {
        grant: troubled('grant', client.grant.bind(client)),
        revoke: troubled('revoke', client.revoke.bind(client)),
        transact: troubled('transact', client.transact.bind(client)),
        keepAlive: client.keepAlive.bind(client),
        range: client.range.bind(client),
        watch: client.watch.bind(client),
        health: client.health.bind(client),
      };
      const entry = { address: 's1', process: 'process 1', settings: {} };
      const options = {
        ...{ client: watched, runtime, logger: silent, prefix: PREFIX, name: 's1', entry },
        registrationMs: REGISTRATION_MS,
      };
      keepers.push(new RegistryKeeper(options, { read: () => {}, nameTaken: () => {} }));
    },
  });
  process.start();
  const perform = (act: (keeper: RegistryKeeper) => void): void =>
    process.perform(() => keepers.forEach(act));
  return {
    ...{ etcd, asked, perform },
    refuse: (method: Method, reason: EtcdRefusalReason): void => void refusals.set(method, refused(reason)),
    haveNoRoom: (): void => void refusals.set('transact', noSpace()),
    carryOut: (): void => refusals.clear(),
    register: (): void => {
      incarnations += 1;
      const incarnation = { startedMs: incarnations, nonce: 0 };
      perform((keeper) => keeper.register({ name: 's1', incarnation }));
    },
    pass: (ms: number): void => world.run({ untilMs: world.trueMs + ms }),
    isRegistered: (): boolean => etcd.store.at(KEY) !== undefined,
  };
}

describe('a keeper of a registration that etcd refuses', () => {
  it('asks for the end of an unwanted registration a few times in a minute, not thousands of times, and then less often', () => {
    const { etcd, asked, register, perform, pass, refuse, isRegistered, carryOut } = scene();
    etcd.ttlSecondsMin = 600;
    register();
    pass(1_000);
    expect(isRegistered()).toBe(true);
    refuse('revoke', 'denied');
    perform((keeper) => keeper.deregister());
    pass(60_000);
    expect(asked.revoke).toBeLessThan(20);
    const before = asked.revoke;
    pass(60_000);
    expect(asked.revoke - before).toBeLessThan(before);
    carryOut();
    pass(4 * REGISTRATION_MS);
    expect(isRegistered()).toBe(false);
  });

  it('asks an etcd without room for a registration less and less often, and registers once there is room', () => {
    const { asked, register, pass, haveNoRoom, carryOut, isRegistered } = scene();
    haveNoRoom();
    register();
    pass(60_000);
    expect(asked.transact).toBeGreaterThan(4);
    expect(asked.transact).toBeLessThan(20);
    carryOut();
    pass(4 * REGISTRATION_MS);
    expect(isRegistered()).toBe(true);
  });

  it('deletes its own unwanted entry if etcd knows no lease of the entry, as after a restored backup', () => {
    const { etcd, asked, register, perform, pass, refuse, isRegistered } = scene();
    etcd.ttlSecondsMin = 600;
    register();
    pass(1_000);
    refuse('revoke', 'no-lease');
    perform((keeper) => keeper.deregister());
    pass(1_500);
    expect(isRegistered()).toBe(false);
    expect(asked.revoke).toBeLessThan(5);
  });
});
