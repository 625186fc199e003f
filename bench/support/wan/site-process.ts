/**
 * A site with real processes: the delayed links to the other sites, and the clients. It runs in the site's network namespace.
 *
 * In every namespace each replica is reached under the same address, 127.0.0.1 and a port of its own. At home that is the replica; elsewhere it is a
 * relay of this program, which hands every byte on half a round trip later to the gate of the other site, and the gate to the replica. So
 * replicas know nothing of the delays, whatever addresses they tell each other.
 *
 *     JP  replica ──► 127.0.0.1:CA ─ relay, 60 ms ─►  10.77.0.2:gate ──► 127.0.0.1:CA  replica  CA
 */

import { connect, createServer, type Socket } from 'node:net';
import { connectQuorum, type Readers, silent } from 'leasehold/quorum';
import { Random } from '../../../leasehold/src/sim/random.ts';
import { bit, objectOf } from '../../../leasehold/src/quorum/core/configuration.ts';
import { type Site, SITES } from '../../../leasehold/src/quorum/simulation/sites/round-trips.ts';
import { summaryOf } from '../../../leasehold/src/quorum/simulation/sites/summary.ts';
import { type Draw, Workload } from '../../../leasehold/src/quorum/simulation/sites/workload.ts';
import { nowMs, obey, pause, say, told } from '../processes/conversation.ts';
import { median } from '../processes/statistics.ts';
import { CLIENTS, KEYS, type Load } from './scenarios.ts';

export interface SiteConfig {
  readonly site: Site;
  /** The port of each replica on 127.0.0.1, by site. */
  readonly ports: Readonly<Record<Site, number>>;
  readonly gate: { readonly host: string; readonly port: number };
  readonly others: readonly { readonly site: Site; readonly host: string; readonly delayMs: number }[];
}

const { site, ports, gate, others } = told<SiteConfig>();

/** Hands bytes on, so much later, in order. */
function pass(from: Socket, to: Socket, delayMs: number): void {
  from.setNoDelay(true);
  const later = (act: () => void): unknown => (delayMs === 0 ? act() : setTimeout(act, delayMs));
  from.on('data', (bytes) => later(() => to.write(bytes)));
  from.on('error', () => from.destroy());
  from.on('close', () => later(() => to.destroy()));
}

function relay(
  host: string,
  port: number,
  to: { host: string; port: number },
  delayMs: number,
): Promise<void> {
  const server = createServer((near) => {
    const far = connect(to.port, to.host);
    pass(near, far, delayMs);
    pass(far, near, delayMs);
  });
  return new Promise((resolve) => server.listen(port, host, resolve));
}

await relay(gate.host, gate.port, { host: '127.0.0.1', port: ports[site] }, 0);
for (const other of others)
  await relay('127.0.0.1', ports[other.site], { host: other.host, port: gate.port }, other.delayMs);

const home = await connectQuorum({ servers: [`127.0.0.1:${ports[site]}`], logger: silent });
const VALUE = new Uint8Array(16);

/** A machine that others use, too, must not end the measurement. */
const PATIENT = { timeoutMs: 60_000 };

export interface LoadTimes {
  readonly warmUpMs: number;
  readonly ms: number;
  /** Writes up to this one count as those that wait for nobody but a majority; undefined: a fifth above the median of {@link LoadTimes.of}. */
  readonly least?: number | undefined;
  /**
   * The writes whose median is the least: all of them, or those of one more client, which writes a key that nobody reads. At first the leader alone holds
   * that key, and later no replica that delays its writer, so its latency shows how much the machine adds at the time.
   */
  readonly of: 'all' | 'unread';
}

const ALLOWED = 1.2;

const unreadKey = (of: Site): string => `written in ${of} alone`;

/** A closed loop of each client; calls that began before the warm-up was over are not counted. */
async function load({ distribution, writeShare, warmUpMs, ms, least, of }: Load & LoadTimes) {
  const random = new Random(1).fork(`load of ${site}`);
  const draw: Draw = new Workload(distribution, KEYS).site(random);
  const [reads, writes]: [number[], number[]] = [[], []];
  let localReads = 0;
  const from = nowMs() + warmUpMs;
  const until = from + ms;
  const lane = async (): Promise<void> => {
    for (let at = nowMs(); at < until; at = nowMs()) {
      const key = draw();
      if (random.chance(writeShare)) {
        await home.put(key, VALUE, PATIENT);
        if (at >= from) writes.push(nowMs() - at);
      } else {
        const { served } = await home.get(key, PATIENT);
        if (at < from) continue;
        reads.push(nowMs() - at);
        if (served === 'local') localReads += 1;
      }
    }
  };
  const unread: number[] = [];
  const unreadLane = async (): Promise<void> => {
    for (let at = nowMs(); at < until; at = nowMs()) {
      await home.put(unreadKey(site), VALUE, PATIENT);
      if (at >= from) unread.push(nowMs() - at);
    }
  };
  await Promise.all([...Array.from({ length: CLIENTS }, lane), of === 'unread' ? unreadLane() : undefined]);
  const leastMs = least ?? ALLOWED * median(of === 'unread' ? unread : writes);
  return { summary: summaryOf(site, { reads, writes, localReads }, leastMs) };
}

/** Writes keys by turns for so long, many at once, and tells how long the longest of each list took. */
async function writeBoth({ held, other, ms }: { held: string[]; other: string[]; ms: number }) {
  const longest = { held: 0, other: 0 };
  const under: Promise<void>[] = [];
  const until = nowMs() + ms;
  for (let at = 0; nowMs() < until; at += 1) {
    for (const [which, keys] of [
      ['held', held],
      ['other', other],
    ] as const) {
      const begun = nowMs();
      const written = home.put(keys[at % keys.length] as string, VALUE, PATIENT).then(() => {
        longest[which] = Math.max(longest[which], nowMs() - begun);
      });
      under.push(written);
    }
    await pause(20);
  }
  await Promise.all(under);
  return { heldMs: longest.held, otherMs: longest.other };
}

say('ready');
obey({
  ...{ load, writeBoth },
  place: async ({ readers }: { readers: Readers }) => (await home.setReaders(readers), {}),
  /** The first slice of two is held by all, the second by all but this site. */
  placeHalves: async ({ without }: { without: Site }) => {
    const { members } = await home.replicaStatus();
    const seat = members.find(({ name }) => name === without)?.seat ?? 0;
    const all = 2 ** 30 - 1;
    const slices = [all, all & ~(2 ** seat)];
    await home.setReaders({ mode: 'chosen', slices, objects: new Map(), automatic: undefined });
    return {};
  },
  /** The leader alone holds the keys that nobody reads. */
  placeUnread: async () => {
    const { members, leader } = await home.replicaStatus();
    const holder = bit(members.find(({ name }) => name === leader)?.seat ?? 0);
    const objects = new Map(SITES.map((each) => [objectOf(unreadKey(each)), holder]));
    await home.setReaders({ mode: 'changed', slices: undefined, objects, weight: undefined });
    return {};
  },
  transfer: async ({ to }: { to: Site }) => (await home.stepDown({ to: to }), {}),
  status: async () => ({ ...(await home.replicaStatus()) }),
});
