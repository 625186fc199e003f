/**
 * The hash rings that npm has, behind one face. Each is set up as its documentation says, with
 * the same servers and 64 points for each.
 *
 *  - `consistent-hash`: a 24-bit hash, binary search. Its ring has 100,003 places unless told
 *    otherwise; with many points it finds no free ones, so then it is given more.
 *  - `hashring` (ketama): MD5 through OpenSSL, binary search, and a cache of recent keys, which is
 *    made as small as it can be: for keys that are new each time it only costs.
 *  - `consistent-hashing`: MD5 as text, binary search. It counts its points at every look-up, and
 *    sorts them all for each server added, so it cannot bear many.
 */

import { createRequire } from 'node:module';

/** Looks all keys up, and returns how often the answer was the one before. */
export type LookUpAll = (keys: readonly string[]) => number;

export interface Ring {
  readonly name: string;
  /** How many look-ups to time at once: a millisecond's worth, or one. */
  readonly batch: number;
  /** @returns undefined if it cannot bear so many points */
  build(servers: readonly string[], virtualNodes: number): LookUpAll | undefined;
}

interface ConsistentHash {
  add(node: string, points: number): void;
  get(key: string): unknown;
}

interface HashRing {
  get(key: string): unknown;
}

interface ConsistentHashing {
  getNode(key: string): unknown;
}

const load = createRequire(import.meta.url);

// The same loop stands in each of them, and not once for all: the engine compiles a loop for what it
// has seen called in it, and calls one method better than any of three.

/** By default. */
const ITS_PLACES = 100_003;

const consistentHash: Ring = {
  name: 'consistent-hash',
  batch: 1_000,
  build(servers, virtualNodes) {
    const Class = load('consistent-hash') as new (options: { range?: number }) => ConsistentHash;
    const ring = new Class(servers.length * virtualNodes < ITS_PLACES / 2 ? {} : { range: 2 ** 24 - 3 });
    for (const server of servers) ring.add(server, virtualNodes);
    return (keys) => {
      let same = 0;
      let last: unknown;
      for (let i = 0; i < keys.length; i += 1) {
        const server = ring.get(keys[i] as string);
        if (server === last) same += 1;
        last = server;
      }
      return same;
    };
  },
};

const hashRing: Ring = {
  name: 'hashring',
  batch: 200,
  build(servers, virtualNodes) {
    const Class = load('hashring') as new (
      servers: readonly string[],
      algorithm: string,
      options: Record<string, number>,
    ) => HashRing;
    const options = { 'vnode count': virtualNodes / 4, replicas: 4, 'max cache size': 1 };
    const ring = new Class(servers, 'md5', options);
    return (keys) => {
      let same = 0;
      let last: unknown;
      for (let i = 0; i < keys.length; i += 1) {
        const server = ring.get(keys[i] as string);
        if (server === last) same += 1;
        last = server;
      }
      return same;
    };
  },
};

const MOST_POINTS_SORTED = 32_000;

const consistentHashing: Ring = {
  name: 'consistent-hashing',
  batch: 1,
  build(servers, virtualNodes) {
    if (servers.length * virtualNodes > MOST_POINTS_SORTED) return undefined;
    const Class = load('consistent-hashing') as new (
      nodes: readonly string[],
      options: { replicas: number },
    ) => ConsistentHashing;
    const ring = new Class(servers, { replicas: virtualNodes });
    return (keys) => {
      let same = 0;
      let last: unknown;
      for (let i = 0; i < keys.length; i += 1) {
        const server = ring.getNode(keys[i] as string);
        if (server === last) same += 1;
        last = server;
      }
      return same;
    };
  },
};

export const rings: readonly Ring[] = [consistentHash, hashRing, consistentHashing];
