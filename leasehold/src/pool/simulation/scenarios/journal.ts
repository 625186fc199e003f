/**
 * Everything said and done in a pool, in order, for a scenario to look back on: the messages as they
 * were sent, what look-ups reported as lost, what owners were told to do, and every commit.
 */

import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Network } from '../../../sim/network.ts';
import type { LossReason } from '../../core/lookup/lookup.ts';
import type { Report, Update } from '../../core/messages.ts';
import type { OwnerEffect } from '../../core/owner/owner.ts';
import { type Batch, decodeBatch } from '../../core/state.ts';
import type { TableRecord } from '../../core/table.ts';
import type { PoolMessage } from '../nodes.ts';
import type { Asked } from '../pool-log.ts';
import type { PoolWorld } from '../pool-world.ts';

export interface Said<Message> {
  readonly atMs: number;
  readonly from: string;
  readonly to: string;
  readonly message: Message;
}

export interface Told {
  readonly atMs: number;
  readonly lookup: string;
  readonly ranges: RangeSet;
  readonly why: LossReason;
}

export interface Turn {
  readonly atMs: number;
  readonly owner: string;
  readonly effect: OwnerEffect;
}

export interface Commit {
  readonly atMs: number;
  readonly position: number;
  readonly batch: Batch;
}

/** A request to the log, at the instant before etcd carried it out. */
export interface AskedOfLog {
  readonly atMs: number;
  readonly from: string;
  readonly asked: Asked;
}

export class Journal {
  readonly said: readonly Said<PoolMessage>[];
  readonly askedOfLog: AskedOfLog[] = [];
  readonly told: Told[] = [];
  readonly turns: Turn[] = [];
  readonly commits: Commit[] = [];
  /** The positions up to which snapshots replaced the log. */
  readonly compactions: number[] = [];

  constructor(pool: PoolWorld) {
    const { world, network, checker, log } = pool;
    this.said = wiretap(network);
    const { onAsk } = log;
    log.onAsk = (from, asked) => {
      this.askedOfLog.push({ atMs: world.trueMs, from, asked });
      onAsk(from, asked);
    };
    const { lookupLost, ownerChanged } = checker;
    checker.lookupLost = (node, effect) => {
      this.told.push({ atMs: world.trueMs, lookup: node.name, ranges: effect.ranges, why: effect.why });
      lookupLost.call(checker, node, effect);
    };
    checker.ownerChanged = (node, effect) => {
      this.turns.push({ atMs: world.trueMs, owner: node.name, effect });
      ownerChanged.call(checker, node, effect);
    };
    log.onCompact = (upTo) => void this.compactions.push(upTo);
    const { onCommit } = log;
    log.onCommit = (batch) => {
      this.commits.push({ atMs: world.trueMs, position: batch.position, batch: decodeBatch(batch.bytes) });
      onCommit(batch);
    };
  }

  reports(): Said<Report>[] {
    return this.said.filter((said): said is Said<Report> => said.message.kind === 'report');
  }

  updates(): Said<Update>[] {
    return this.said.filter((said): said is Said<Update> => said.message.kind === 'update');
  }

  /** What happened to owners under this name. */
  turnsOf(what: OwnerEffect['do'], owner?: string): Turn[] {
    return this.turns.filter(
      (turn) => turn.effect.do === what && (owner === undefined || turn.owner === owner),
    );
  }

  /** All that a look-up has reported as lost. */
  toldTo(lookup: string): Told[] {
    return this.told.filter((told) => told.lookup === lookup);
  }

  records<Kind extends TableRecord['kind']>(
    kind: Kind,
  ): (Extract<TableRecord, { readonly kind: Kind }> & {
    readonly atMs: number;
    readonly position: number;
  })[] {
    return this.commits.flatMap(({ atMs, position, batch }) =>
      batch.pools.flatMap(({ records }) =>
        records
          .filter((record): record is Extract<TableRecord, { readonly kind: Kind }> => record.kind === kind)
          .map((record) => ({ ...record, atMs, position })),
      ),
    );
  }
}

/** What is sent from now on; to send something of it again is to duplicate and delay it. */
function wiretap<Message>(network: Network<Message>): readonly Said<Message>[] {
  const said: Said<Message>[] = [];
  const { send } = network;
  network.send = (from, to, message) => {
    said.push({ atMs: network.world.trueMs, from, to, message });
    send.call(network, from, to, message);
  };
  return said;
}
