/**
 * One batch, made of the decisions for every pool about which something was heard, and no larger than
 * the log takes. The rest is left for the next batch: first fewer spans of a pool, then fewer
 * pools. A single change of a single pool is written however large it is, because there is nothing
 * left to divide; the log refuses it if it must.
 */

import { type Batch, encodeBatch, type ManagerState, type LeaderRecord } from '../state.ts';
import type { WantedMove } from '../moves/tickets.ts';
import type { TableRecord } from '../table.ts';
import { decide, type Facts, type Recalls } from './decision.ts';
import type { ManagerSettings } from './settings.ts';

export interface Draft {
  readonly position: number;
  readonly batch: Batch;
  readonly bytes: Uint8Array;
  /** The owners that it removes. */
  readonly condemned: ReadonlySet<string>;
  /** Owners that are called silent in it. */
  readonly silenced: ReadonlySet<string>;
  readonly recalls: ReadonlyMap<string, Recalls>;
  readonly wanted: ReadonlyMap<string, readonly WantedMove[] | undefined>;
  /** Pools for which there is more than fits. */
  readonly unfinished: readonly string[];
}

export interface Known {
  /** The committed state. */
  readonly state: ManagerState;
  /** Where the batch is to go. */
  readonly position: number;
  readonly leaderRecord: LeaderRecord;
  facts(pool: string): Omit<Facts, 'maxSpansPerBatch'>;
}

type Limits = Pick<ManagerSettings, 'maxSpansPerBatch' | 'maxBatchBytes'>;

/** @param most so many pools at the most, if not all; with 0 the batch says only that this leader leads */
export function draft(known: Known, pools: readonly string[], limits: Limits, most?: number): Draft {
  const mostBytes = limits.maxBatchBytes ?? Number.POSITIVE_INFINITY;
  let mostPools = most ?? pools.length;
  let mostSpans = limits.maxSpansPerBatch;
  let made = draftOf(known, pools, mostPools, mostSpans);
  while (made.bytes.length > mostBytes && (mostSpans > 1 || mostPools > 1)) {
    if (mostSpans > 1) mostSpans = Math.ceil(mostSpans / 8);
    else mostPools = Math.ceil(mostPools / 2);
    made = draftOf(known, pools, mostPools, mostSpans);
  }
  return made;
}

function draftOf(known: Known, dirty: readonly string[], mostPools: number, mostSpans: number): Draft {
  const { state, position, leaderRecord } = known;
  const pools: Batch['pools'][number][] = [];
  const condemned = new Set<string>();
  const recalls = new Map<string, Recalls>();
  const wanted = new Map<string, readonly WantedMove[] | undefined>();
  const unfinished = dirty.slice(mostPools);
  for (const pool of dirty.slice(0, mostPools)) {
    const facts = { ...known.facts(pool), maxSpansPerBatch: mostSpans };
    const decision = decide(state.pool(pool), position, facts);
    if (decision.records.length > 0) pools.push({ pool, records: decision.records });
    for (const incarnation of decision.condemned) condemned.add(incarnation);
    recalls.set(pool, decision.recalls);
    wanted.set(pool, decision.wanted);
    if (decision.unfinished) unfinished.push(pool);
  }
  const recovering = leaderRecord.recovering === true && unfinished.length > 0;
  const batch: Batch = { ...leaderRecord, recovering, pools };
  const silenced = new Set(pools.flatMap(({ records }) => records.flatMap(silencedBy)));
  return { position, batch, bytes: encodeBatch(batch), condemned, silenced, recalls, wanted, unfinished };
}

const silencedBy = (record: TableRecord): readonly string[] =>
  record.kind === 'silent' ? record.incarnations : [];

/** The records of a batch, for a trace. */
export function describe(batch: Batch): string {
  const kinds = batch.pools.flatMap(({ records }) =>
    records.map((record) => ('spans' in record ? `${record.kind}:${record.spans.length}` : record.kind)),
  );
  return kinds.length === 0 ? 'opening' : kinds.join(',');
}
