/**
 * Reads how things are and shows it: every two seconds, and when an event says that something has
 * changed. The table of a pool is read only if it is another than the one that is shown; it can be long.
 */

import {
  ask,
  askManager,
  type OwnersAnswer,
  type PoolAnswer,
  type PoolSummary,
  poolPath,
  type RowAnswer,
  type StatusAnswer,
  type TableAnswer,
} from './api.ts';
import { answersCome } from './connection.ts';
import { showManager, showPools } from './header.ts';
import { showGone } from './gone.ts';
import { explainKey } from './key.ts';
import { model } from './model.ts';
import { showOwners } from './owners.ts';
import { drawRing, showMiddle } from './ring.ts';

const SOON_MS = 150;
const MOST_ROWS = 20_000;
const ROWS_AT_ONCE = 5_000;
/** Renewals that an owner may miss before it is called silent. */
const RENEWALS_MISSED = 2.5;

let due: ReturnType<typeof setTimeout> | undefined;
let isReading = false;
let isMoreWanted = false;

/** Events come in bursts; one look afterwards is enough. */
export function refreshSoon(): void {
  clearTimeout(due);
  due = setTimeout(() => void refreshOrSay(), SOON_MS);
}

/** One reading at a time; whoever wants another meanwhile gets it afterwards. */
export async function refreshOrSay(): Promise<void> {
  if (isReading) {
    isMoreWanted = true;
    return;
  }
  isReading = true;
  try {
    await refresh();
    answersCome(true);
  } catch {
    answersCome(false);
  } finally {
    isReading = false;
    if (isMoreWanted) refreshSoon();
    isMoreWanted = false;
  }
}

/** @throws if the Manager does not answer */
export async function refresh(): Promise<void> {
  const status = await askManager();
  const pools = await readPools(status);
  model.clockAheadMs = status.startedAtMs + 1_000 * status.uptimeSeconds - Date.now();
  showManager(status);
  showPools(pools);
  const pool = pools.find(({ name }) => name === model.pool);
  if (pool === undefined) {
    [model.table, model.owners] = [undefined, new Map()];
    showOwners([]);
  } else await readPool(pool);
  showGone();
  showMiddle(pool);
  drawRing();
  await explainKey();
}

/** One that stands by and has read nothing, or keeps nothing, would only say that it does not know. */
async function readPools(status: StatusAnswer): Promise<readonly PoolSummary[]> {
  if (status.pools === null) return [];
  return (await ask<{ readonly pools: readonly PoolSummary[] }>('/v1/pool')).pools;
}

async function readPool(pool: PoolSummary): Promise<void> {
  const [{ owners }, { durations }] = await Promise.all([
    ask<OwnersAnswer>(poolPath(pool.name, '/owners?limit=1000')),
    ask<PoolAnswer>(poolPath(pool.name)),
  ]);
  model.silentAfterMs = RENEWALS_MISSED * durations.renewEveryMs;
  model.owners = new Map(owners.map((owner) => [owner.incarnation, owner]));
  if (pool.changedAt !== model.table?.changedAt || pool.name !== model.table.pool) await readTable(pool);
  showOwners(owners);
}

async function readTable({ name, changedAt }: PoolSummary): Promise<void> {
  const rows: RowAnswer[] = [];
  let next: string | null = '';
  let page: TableAnswer;
  do {
    const from: string = next === '' ? '' : `&from=${next}`;
    page = await ask<TableAnswer>(poolPath(name, `/table?limit=${ROWS_AT_ONCE}${from}`));
    rows.push(...page.rows);
    next = page.next;
  } while (next !== null && rows.length < MOST_ROWS);
  model.table = { pool: name, changedAt, position: page.position, rows, rowCount: page.count };
}
