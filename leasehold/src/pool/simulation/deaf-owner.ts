/**
 * An owner that speaks and does not hear: its reports arrive, and nothing comes back to it. It cannot know that it was
 * renewed, so its leases lapse and nobody serves its keys. A Manager that went on acknowledging it would keep the
 * keys for it for ever.
 *
 * *While one leader leads without a gap, such an owner is a member for two holds at most:* one until the leader finds that it
 * confirms nothing any more, one that the last acknowledgement began.
 */

import type { Instant } from '../../runtime/time.ts';
import type { Fate } from './fate.ts';
import type { ManagerNode, OwnerNode } from './nodes.ts';

const LOOK_EVERY_MS = 20;

/** Makes an owner deaf for as long, and sees to it that it is removed. */
export function deafOwner(fate: Fate): void {
  const { pool, leader } = fate;
  const { network, managers, bounds, durations } = pool;
  const node = fate.someOwner();
  if (node === undefined || leader === undefined || fate.holdsBack()) return;
  if (!isMember(fate, node)) return;
  const withinMs = 2 * bounds.holdMs * bounds.rate + 16 * durations.retryMs;
  fate.setAside(node, (withinMs + durations.leaseMs) / durations.leaseMs);
  fate.stage(withinMs + durations.leaseMs);
  fate.did('deaf owners', node.name);
  for (const { name } of managers) {
    network.cutBoth(node.name, name, { dropInFlight: true }); // A report that is late would prove that it heard.
    network.heal(node.name, name);
    network.cut(name, node.name);
  }
  fate.healAfter(0, 0.1, node, managers);
  judge(fate, leader, node, pool.world.trueMs + withinMs);
}

const isMember = ({ pool }: Fate, { pool: name, incarnation }: OwnerNode): boolean =>
  pool.checker.truth.pool(name).members.has(incarnation);

/** Looks until it is removed or should have been; no longer, if somebody leads anew meanwhile, or with a gap. */
function judge(fate: Fate, leader: ManagerNode, node: OwnerNode, untilMs: number): void {
  const { world, network, managers } = fate.pool;
  const { incarnation } = node;
  const term = leader.core?.term;
  let ledUntil: Instant | undefined;
  const look = (): void => {
    const isDeaf = managers.every(({ name }) => network.isCut(name, node.name));
    if (fate.isOver || !isDeaf || node.incarnation !== incarnation || !isMember(fate, node)) return;
    const { core, process } = leader;
    if (!process.running || core === undefined || core.term !== term) return;
    const { leadsUntil, waitsUntil, isWriting } = core.observe();
    if (leadsUntil === undefined || leadsUntil <= process.now() || waitsUntil !== undefined) return;
    // The leader lease may have ended and been extended again since the last look.
    if (ledUntil !== undefined && ledUntil <= process.now()) return;
    ledUntil = leadsUntil;
    if (world.trueMs >= untilMs && !isWriting)
      throw world.broken(
        'settles',
        `${incarnation} has heard nothing for two holds, and ${leader.name} still keeps its keys`,
      );
    world.after(LOOK_EVERY_MS, look);
  };
  look();
}
