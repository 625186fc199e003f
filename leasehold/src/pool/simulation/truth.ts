/**
 * What is true, as the log has it: a second, deliberately simple account of every pool, kept from
 * the batches at the instant etcd commits them. It shares no code with `table.ts`: what owners
 * and look-ups make of the Manager's tables is held against this.
 */

import { RING_SIZE, type Hash } from '../../runtime/keys/position.ts';
import type { Span } from '../../runtime/keys/range.ts';
import type { Batch } from '../core/state.ts';
import type { Member, TableRecord } from '../core/table.ts';

export interface Segment {
  start: Hash;
  end: Hash;
  owner: string | undefined;
  number: number;
  /** The commit with which the present owner's unbroken tenure began. */
  tenure: number;
}

export interface Taken extends Span {
  readonly from: string;
  /** The commit with which the tenure began that ends here. */
  readonly tenure: number;
  /** Not by a release but because the owner is no member any more. */
  readonly left: boolean;
  /** With the state, to another owner: nothing is lost. */
  readonly moved: boolean;
}

const NOBODY = { owner: undefined, number: 0, tenure: 0 } as const;

export class TruePool {
  readonly segments: Segment[] = [{ start: 0n, end: RING_SIZE, ...NOBODY }];
  readonly members: Map<string, Member> = new Map();

  /** Applies a record; returns what it took from whom. */
  apply(record: TableRecord, position: number): Taken[] {
    const taken: Taken[] = [];
    switch (record.kind) {
      case 'join':
        this.members.set(record.member.incarnation, { ...record.member, joinedAt: position });
        break;
      case 'leave':
        this.members.delete(record.incarnation);
        for (const segment of this.segments) {
          if (segment.owner !== record.incarnation) continue;
          taken.push({
            start: segment.start,
            end: segment.end,
            from: record.incarnation,
            tenure: segment.tenure,
            ...{ left: true, moved: false },
          });
          segment.owner = undefined;
        }
        break;
      case 'silent':
      case 'heard':
      case 'order':
      case 'moves':
        break;
      case 'remove':
        this.members.clear();
        this.segments.splice(0, this.segments.length, { start: 0n, end: RING_SIZE, ...NOBODY });
        break;
      default:
        for (const span of record.spans)
          for (const segment of this.within(span)) this.#change(record, segment, position, taken);
    }
    return taken;
  }

  #change(record: TableRecord, segment: Segment, position: number, taken: Taken[]): void {
    switch (record.kind) {
      case 'free':
        if (segment.owner !== undefined)
          taken.push({
            start: segment.start,
            end: segment.end,
            from: segment.owner,
            tenure: segment.tenure,
            ...{ left: false, moved: false },
          });
        segment.owner = undefined;
        break;
      case 'move':
        if (segment.owner !== undefined) {
          const { start, end, owner: from, tenure } = segment;
          taken.push({ start, end, from, tenure, left: false, moved: true });
        }
        segment.owner = record.incarnation;
        segment.number = position;
        segment.tenure = position;
        break;
      case 'grant':
        segment.owner = record.incarnation;
        segment.number = position;
        segment.tenure = position;
        break;
      case 'renumber':
      case 'merge':
        segment.number = position;
        break;
    }
  }

  /** The segment that a position falls into. */
  at(position: Hash): Segment {
    return this.segments[this.#indexOf(position)] as Segment;
  }

  /** The segments inside a span, cut at its edges. */
  within({ start, end }: Span): Segment[] {
    this.#cut(start);
    this.#cut(end);
    const first = this.#indexOf(start);
    const result: Segment[] = [];
    for (let index = first; index < this.segments.length; index += 1) {
      const segment = this.segments[index] as Segment;
      if (segment.start >= end) break;
      result.push(segment);
    }
    return result;
  }

  /** The segments that share keys with a span, uncut. */
  *overlapping({ start, end }: Span): Generator<Segment> {
    for (let index = this.#indexOf(start); index < this.segments.length; index += 1) {
      const segment = this.segments[index] as Segment;
      if (segment.start >= end) return;
      yield segment;
    }
  }

  #cut(at: Hash): void {
    if (at >= RING_SIZE) return;
    const index = this.#indexOf(at);
    const segment = this.segments[index] as Segment;
    if (segment.start === at) return;
    this.segments.splice(index + 1, 0, { ...segment, start: at });
    segment.end = at;
  }

  #indexOf(position: Hash): number {
    let low = 0;
    let high = this.segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.segments[middle] as Segment).start <= position) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

export class Truth {
  readonly pools: Map<string, TruePool> = new Map();
  head = 0;

  pool(name: string): TruePool {
    let pool = this.pools.get(name);
    if (pool === undefined) this.pools.set(name, (pool = new TruePool()));
    return pool;
  }

  /** All of it, to go back to later. */
  backup(): () => void {
    const { head } = this;
    const pools = [...this.pools].map(([name, { segments, members }]) => ({
      name,
      segments: segments.map((segment) => ({ ...segment })),
      members: new Map(members),
    }));
    return () => {
      this.head = head;
      this.pools.clear();
      for (const { name, segments, members } of pools) {
        const pool = this.pool(name);
        pool.segments.splice(0, pool.segments.length, ...segments.map((segment) => ({ ...segment })));
        for (const [incarnation, member] of members) pool.members.set(incarnation, member);
      }
    };
  }

  /** Applies a batch; returns, for each pool, what was taken from whom. */
  commit(position: number, batch: Batch): Map<string, Taken[]> {
    this.head = position;
    const taken = new Map<string, Taken[]>();
    for (const { pool, records } of batch.pools) {
      const truePool = this.pool(pool);
      taken.set(
        pool,
        records.flatMap((record) => truePool.apply(record, position)),
      );
    }
    return taken;
  }
}
