/**
 * Which parts of a fixed number are this server's: `shards`. Why no two servers hold one part is argued in `core/shards.ts`.
 *
 * Nothing is remembered here. Each question reads the clock and the present view, so an answer is good for the instant at which it was asked.
 */

import { invalidOption, LeaseLostError } from '../../runtime/errors.ts';
import type { Held } from '../../runtime/handle.ts';
import { pause } from '../../runtime/pause.ts';
import { closed } from '../core/errors.ts';
import { ShardHolder, shardOf, SHARDS_MAX } from '../core/shards.ts';
import { GroupMember } from './group-member.ts';

/** A shard that this server held when it was asked for. `number` is the fencing number, which a store may compare to refuse a holder that was paused. */
export interface HeldShard extends Held {
  readonly shard: number;
}

export interface Shards {
  readonly count: number;
  /** The shard of a key: the same at all processes with this number of shards. */
  of(key: string): number;
  /** The shards that this server holds at this instant, in ascending order. */
  mine(): readonly number[];
  /** Whether this server holds the shard at this instant. Ask right before each use. */
  isHeld(shard: number): boolean;
  /** The shard with its fencing number; undefined if this server does not hold the shard at this instant. */
  hold(shard: number): HeldShard | undefined;
  /** The owner in the present view, which may not hold the shard yet, or no more; undefined without a view. */
  ownerOf(shard: number): string | undefined;
  /** The shards that this server holds, and again whenever others are held. A slow reader gets the newest. */
  watch(options?: { signal?: AbortSignal | undefined }): AsyncGenerator<readonly number[], void, undefined>;
}

/**
 * Shares out shards `0` to `count - 1` among the servers of a group, so that none is held by two at once. All servers must give the same `count`.
 *
 * @throws {InvalidArgumentError} if `count` is not from 1 to 1,024, or if the group has neither `etcd` nor `maxServers`: each side of a partition would hold all shards
 */
export function shards(group: GroupMember, count: number): Shards {
  if (!(group instanceof GroupMember))
    throw invalidOption('group', typeof group, 'it must be a server of a group: what joinGroup returns');
  if (!Number.isSafeInteger(count) || count < 1 || count > SHARDS_MAX)
    throw invalidOption('count', count, `it must be a whole number from 1 to ${SHARDS_MAX}`);
  const { maxServers, hasRegistry, runtime, durations } = group.inside;
  if (maxServers === undefined && !hasRegistry) {
    const rule =
      'shards need it, or etcd: without the number of servers that there can be, each side of a partition would hold all shards';
    throw invalidOption('maxServers', maxServers, rule);
  }
  const holder = new ShardHolder(group.name, count, hasRegistry ? undefined : maxServers);
  const held = () => holder.held({ standing: group.standing(), view: group.view });
  const check = (shard: number): void => {
    if (Number.isSafeInteger(shard) && shard >= 0 && shard < count) return;
    throw invalidOption('shard', shard, `it must be a whole number below ${count}`);
  };
  // The end of a hold, or of a lease, is no input of the core: look again after a part of a heartbeat.
  const aWhile = (signal?: AbortSignal): Promise<void> => pause(runtime, durations.heartbeatMs / 5, signal);
  const endOf = (isHeld: () => boolean): AbortController => {
    const ended = new AbortController();
    const look = (): void => {
      if (isHeld()) void aWhile().then(look);
      else
        ended.abort(
          new LeaseLostError('LEASE_LOST', 'this server does not hold the shard any more', {
            module: 'membership',
          }),
        );
    };
    look();
    return ended;
  };
  return {
    count,
    of: (key) => shardOf(key, count),
    mine: () => [...held().shards],
    isHeld(shard) {
      check(shard);
      return held().shards.has(shard);
    },
    hold(shard) {
      check(shard);
      const now = held();
      if (!now.shards.has(shard)) return undefined;
      const isHeld = (): boolean => {
        const later = held();
        return later.number === now.number && later.shards.has(shard);
      };
      let ended: AbortController | undefined;
      const signal = (): AbortSignal => {
        ended ??= endOf(isHeld);
        return ended.signal;
      };
      return {
        ...{ shard, number: now.number, isHeld },
        get signal() {
          return signal();
        },
      };
    },
    ownerOf(shard) {
      check(shard);
      const { view } = group;
      return view === undefined ? undefined : holder.ownersIn(view.members).ownerOf(shard);
    },
    async *watch({ signal } = {}) {
      let last: readonly number[] | undefined;
      for (;;) {
        signal?.throwIfAborted();
        if (group.status().state === 'left') throw closed();
        const mine = [...held().shards];
        if (last === undefined || mine.join() !== last.join()) yield (last = mine);
        await aWhile(signal);
      }
    },
  };
}
