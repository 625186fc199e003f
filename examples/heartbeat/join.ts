/** A member in a real process: links to the others by the mesh; status, health, metrics and events by the service kit. */

import { randomId } from '../../leasehold/src/node/id.ts';
import { openMesh } from '../../leasehold/src/node/mesh/mesh.ts';
import { nodeRuntime } from '../../leasehold/src/node/runtime.ts';
import { parseAddress } from '../../leasehold/src/node/tcp/address.ts';
import type { Served, Service } from '../../leasehold/src/node/service/service.ts';
import { listOf, text } from '../../leasehold/src/node/service/schema.ts';
import { alarmOn } from '../../leasehold/src/runtime/driver.ts';
import type { Logger } from '../../leasehold/src/runtime/logger.ts';
import { counter, familiesOf, gauge, type Metric } from '../../leasehold/src/runtime/metrics.ts';
import type { Beat } from './core.ts';
import { Member } from './member.ts';
import { codec } from './wire.ts';

export interface JoinOptions {
  readonly name: string;
  /** All members by name, this one included, as `host:port`. */
  readonly peers: Readonly<Record<string, string>>;
  readonly everyMs: number;
  readonly silentAfterMs: number;
  readonly logger: Logger;
}

export interface Joined extends AsyncDisposable, Served {
  readonly member: Member;
}

const METRICS: readonly Metric<Member>[] = [
  gauge('heartbeat_alive', 'Peers that are alive.', (member) => member.alive().length),
  counter('heartbeat_sent_total', 'Rounds of beats sent.', ({ core }) => core.sent),
];

export async function join({ name, peers, everyMs, silentAfterMs, logger }: JoinOptions): Promise<Joined> {
  const others = Object.keys(peers).filter((peer) => peer !== name);
  const runtime = nodeRuntime();
  let deliver = (_from: string, _beat: Beat): void => {};
  const mesh = await openMesh({
    ...{ codec, name, runtime, logger, secure: undefined, group: 'heartbeat', incarnation: randomId(4) },
    protocol: { name: 'heartbeat', version: 1, oldest: 1 },
    // Members that count differently would disagree for ever: the handshake refuses them, and says why.
    agreed: { everyMs: String(everyMs), silentAfterMs: String(silentAfterMs) },
    listen: parseAddress(peers[name] ?? ''),
    receive: (from, beat) => deliver(from, beat),
  });
  mesh.setPeers(new Map(Object.entries(peers)));
  const member = new Member(
    { peers: others, everyMs, silentAfterMs },
    {
      runtime,
      alarm: (wake) => alarmOn(runtime, wake),
      transport: {
        send: (to, message) => mesh.send(to, message),
        listen: (callback) => {
          deliver = callback;
          return { [Symbol.dispose]: () => {} };
        },
      },
    },
  );
  const missing = (): readonly string[] => others.filter((peer) => !member.alive().includes(peer));
  const service: Service = {
    ...{ module: 'heartbeat', instance: 'heartbeat', usualPort: 0, title: 'Heartbeat' },
    description: 'Which peers are alive.',
    status: () => ({ name, alive: member.alive() }),
    statusSchema: { name: text('this member'), alive: listOf(text('a peer'), 'the peers that are alive') },
    metrics: () => familiesOf(METRICS, member),
    checks: () => [
      {
        ...{ name: 'peers', afterMs: silentAfterMs },
        standsStill: () => (missing().length === 0 ? undefined : `not heard: ${missing().join(', ')}`),
      },
    ],
  };
  const close = async (): Promise<void> => {
    member.stop();
    await mesh[Symbol.asyncDispose]();
  };
  return { member, toService: () => service, [Symbol.asyncDispose]: close };
}
