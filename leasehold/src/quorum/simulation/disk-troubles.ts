/** Troubles of directories: damaged frames, backups that are put back, and copies made just before a power cut. */

import type { Storm, Trouble } from '../../sim/storm.ts';
import type { ReplicaNode } from './node.ts';
import type { QuorumWorld } from './quorum-world.ts';

export function diskTroubles(quorum: QuorumWorld): Readonly<Record<string, Trouble<ReplicaNode>>> {
  return {
    damage: (node) => damage(quorum, node),
    restore: (node, storm) => restore(quorum, node, storm),
    copy: (node, storm) => copy(quorum, node, storm),
  };
}

/** Flips bits in a frame that has a valid one behind it; found at the next start. */
function damage({ operator, world }: QuorumWorld, node: ReplicaNode): void {
  if (!operator.isWhole || !operator.members.includes(node)) return;
  if (operator.members.some(({ replica }) => replica === undefined)) return;
  node.crash();
  node.disk.repairTail();
  if (node.disk.damage()) world.count('frames damaged');
  node.start();
}

/** Puts an earlier backup in the place of a disk, and starts the replica on that; or makes a backup, for a later time. */
function restore({ operator, world }: QuorumWorld, node: ReplicaNode, storm: Storm<ReplicaNode>): void {
  const { random } = storm;
  const { disk } = node;
  const { votesInBackup } = disk;
  for (const each of operator.members) if (each !== node && random.chance(0.5)) each.disk.backUp();
  if (votesInBackup === undefined || random.chance(0.2)) {
    disk.backUp();
    return;
  }
  if (!operator.isWhole || !operator.members.includes(node)) return;
  const others = operator.members.filter((each) => each !== node);
  node.crash();
  disk.restore();
  world.count('backups restored');
  if (random.chance(0.5)) for (const each of others) storm.crash(each);
  node.start();
}

/** A power cut comes at the latest so long after a copy was made. */
const COPY_WAITS_MS = 150;

/**
 * Copies the directory of a running replica while hardly more than a majority runs. The power fails everywhere as soon as a member has heard a vote
 * that the copy lacks, and has not written that down; the copy takes the place of the directory, and all members start. When the copy is
 * confirmed, those that ran fail for a while: nobody else has what the copy forgot.
 *
 *     a, the copied   ── copy ── votes ✝ the copy ── confirmed ───────────────► may it decide with c?
 *     b               ────────── hears ✝ ─────────────────────── ✝
 *     c               ✝ ──────────────── starts ──────────────────────────────►
 */
function copy(quorum: QuorumWorld, node: ReplicaNode, storm: Storm<ReplicaNode>): void {
  const { operator, world } = quorum;
  const { random } = storm;
  if (!operator.isWhole || !operator.members.includes(node) || node.replica === undefined) return;
  const others = random.shuffle(operator.members.filter((each) => each !== node));
  const away = random.chance(0.7) ? others.slice(0, Math.floor(others.length / 2)) : [];
  for (const each of away) each.crash();
  const [nodeLife, untilMs] = [node.process.incarnation, world.trueMs + COPY_WAITS_MS];
  storm.stage(2 * COPY_WAITS_MS);
  let copiedMs: number | undefined;
  const waitMs = away.length === 0 ? 0 : quorum.drawn.durations.electionMs * random.between(0, 1);
  const watching = world.every([0.3, 1.5], () => {
    const isVoid = storm.isOver || node.process.incarnation !== nodeLife;
    if (copiedMs === undefined && world.trueMs >= untilMs - COPY_WAITS_MS + waitMs) {
      node.disk.backUp();
      copiedMs = world.trueMs;
    }
    const isDue = world.trueMs > untilMs + waitMs || isVoteForgotten(node, others);
    if (!isVoid && !(copiedMs !== undefined && isDue)) return;
    watching[Symbol.dispose]();
    if (isVoid || !operator.isWhole) for (const each of away) each.start();
    else goOnFromCopy(quorum, node, { others, away }, storm);
  });
}

/** Whether a member has heard of a vote that the backup lacks, and its disk does not say so. */
function isVoteForgotten(node: ReplicaNode, others: readonly ReplicaNode[]): boolean {
  const { votesInBackup = 0 } = node.disk;
  const isHeard = ({ replica }: ReplicaNode): boolean =>
    (replica?.view.heard.get(node.storage) ?? 0) > votesInBackup;
  return others.some(isHeard) && others.every(({ disk }) => disk.heardOf(node.storage) <= votesInBackup);
}

function goOnFromCopy(
  { world, drawn }: QuorumWorld,
  node: ReplicaNode,
  { others, away }: Readonly<Record<'others' | 'away', readonly ReplicaNode[]>>,
  storm: Storm<ReplicaNode>,
): void {
  const { random } = storm;
  if (isVoteForgotten(node, others)) world.count('copies whose votes nobody wrote down');
  for (const each of [node, ...others]) each.crash();
  if (random.chance(0.2)) node.disk.restoreFirst();
  else node.disk.restore();
  for (const each of [node, ...others]) each.start();
  const ran = others.filter((each) => !away.includes(each));
  const victims = away.length > 0 && random.chance(0.8) ? ran : [random.pick(others)];
  const watching = world.every([1, 3], () => {
    if (node.replica === undefined && !node.isLost && !storm.isOver) return;
    watching[Symbol.dispose]();
    if (storm.isOver || node.isLost) return;
    const awayMs = drawn.durations.electionMs * random.between(1, 8);
    for (const each of victims) storm.crash(each, awayMs);
    storm.stage(awayMs);
  });
}
