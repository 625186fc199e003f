/**
 * The calm phase: the promises about the time after all faults have ended.
 *
 *     faults end ├─ all recover ─┤ ready ├─ requests end ─┤ at rest ├─ all take turns ─┤ no more ├─ all is forgotten ─┤
 *
 * A member is ready when it takes part and has no trouble with a peer; and no message of the time of faults is on its
 * way any more: a duplicate of a `dequeue`, arriving after the next `enqueue`, would remove the member from the line.
 *
 *  - **progress.** Every waiting request is granted, within a bound that grows with the number of requests. When all
 *    begin anew, with nothing in their way but each other, they take turns: a process is in line once
 *    for all of its requests, so while one waits, each other process has the lease as often as there are callers in
 *    one process; and a few times more, until there is a line.
 *  - **forgets.** When no process holds or wants a lease, no acceptor keeps a register for longer than the lemma of
 *    `register.ts` asks for.
 */

import type { LinkFaults } from '../../sim/network.ts';
import type { Waiting } from './checker.ts';
import type { FleaseWorld } from './flease-world.ts';

/** Contending attempts and their pauses, in answer timeouts: for one change of holder. */
const ANSWERS_PER_TURN = 8;
/**
 * How often another process may overtake. Messages cross, and when all begin at once there is no line yet; most are
 * served within a turn or two. With clocks that are nearly half a lease apart, slower members take longer to be heard
 * at all.
 */
const OVERTAKEN_MAX = 10;

export function seeCalm(flease: FleaseWorld): void {
  const { network, timekeeping, operator, drawn } = flease;
  network.heal();
  network.setFaults(drawn.calmLinks);
  timekeeping.rest();
  for (const node of flease.nodes) node.process.resume();
  operator.startAll();
  recover(flease);
  comeToRest(flease);
  goInTurn(flease);
  forget(flease);
}

/** Suspensions end by themselves; then all members have to move, settle, and recover if they must. */
function recover(flease: FleaseWorld): void {
  const { world, operator, drawn } = flease;
  const { leaseMs, recoveryMs } = drawn.durations;
  const readyByMs = world.trueMs + 4 * leaseMs + 3 * drawn.operatorMs + 8 * recoveryMs;
  world.run({ untilMs: world.trueMs + slowestMs(drawn.links) });
  while (!isReady(flease)) {
    if (world.trueMs > readyByMs) throw world.broken('progress', `not ready: ${whyNotReady(flease)}`);
    world.run({ untilMs: world.trueMs + leaseMs / 10 });
    operator.startAll();
  }
}

/**
 * Each waiting request is granted once, and each holder releases. Some requests wait for a notice that was lost, and
 * so for another lease's end.
 */
function comeToRest(flease: FleaseWorld): void {
  flease.mood = 'at-rest';
  playOut(flease, () => flease.callers.some(({ isBusy }) => isBusy));
}

/** Each caller has the lease several times, one after the other. */
function goInTurn(flease: FleaseWorld): void {
  const { world, drawn, checker } = flease;
  flease.mood = 'in-turn';
  checker.onGrant = (waiting) => {
    world.count('granted in turn');
    const most = Math.max(0, ...waiting.turns.values());
    if (most <= drawn.callersEach + OVERTAKEN_MAX) return;
    throw world.broken('progress', `${who(waiting)} has waited while another had it ${most} times`);
  };
  playOut(flease, () => flease.callers.some(({ isDone }) => !isDone));
}

function forget({ world, nodes, drawn }: FleaseWorld): void {
  const { leaseMs, clockSkewMs } = drawn.durations;
  world.run({ untilMs: world.trueMs + leaseMs + 2 * clockSkewMs + leaseMs / 4 });
  for (const { name, member } of nodes) {
    if (member === undefined || member.registersKept === 0) continue;
    throw world.broken('forgets', `${name} keeps ${member.registersKept} registers although all is over`);
  }
}

/** Runs as long as some process is busy, and checks that no request waits for too long. */
function playOut(flease: FleaseWorld, areBusy: () => boolean): void {
  const { world, drawn, nodes } = flease;
  const { leaseMs, clockSkewMs, answerTimeoutMs } = drawn.durations;
  const beganMs = world.trueMs;
  const contenders = nodes.length * drawn.callersEach;
  const boundMs =
    (contenders + 1) * ANSWERS_PER_TURN * answerTimeoutMs +
    Math.max(...drawn.holdMs) +
    2 * (leaseMs + clockSkewMs);
  while (areBusy() || isAnythingHeld(flease)) {
    nobodyStarves(flease, beganMs, boundMs);
    if (world.trueMs > beganMs + 10 * boundMs) throw world.broken('progress', 'it does not come to an end');
    world.run({ untilMs: world.trueMs + leaseMs / 20 });
  }
}

/** How long a message may be on its way. */
const slowestMs = ({ delayMs = [0, 0], slowMs = [0, 0] }: Partial<LinkFaults>): number =>
  Math.max(delayMs[1], slowMs[1]);

const isAnythingHeld = ({ nodes }: FleaseWorld): boolean =>
  nodes.some(
    ({ member }) => member !== undefined && ([...member.heldLeases].length > 0 || member.hasUnfinished),
  );

function isReady(flease: FleaseWorld): boolean {
  return whyNotReady(flease) === '';
}

function whyNotReady({ nodes, operator }: FleaseWorld): string {
  for (const { name, member, process } of nodes) {
    if (!process.running || member === undefined) return `${name} does not run`;
    if (member.recovery !== undefined) return `${name} is recovering: ${member.recovery.why}`;
    if (member.view.number !== operator.view.number) return `${name} is in view ${member.view.number}`;
    if (member.view.before !== undefined)
      return `${name} does not say that view ${member.view.number} is settled`;
    const troubled = member.peers().find(({ trouble }) => trouble !== undefined);
    if (troubled !== undefined) return `${name} does not heed ${troubled.id}: ${troubled.trouble?.why}`;
  }
  return operator.isChanging ? 'a member that leaves is still there' : '';
}

function nobodyStarves({ world, checker }: FleaseWorld, beganMs: number, boundMs: number): void {
  for (const waiting of checker.waiting()) {
    const forMs = world.trueMs - Math.max(beganMs, waiting.sinceMs);
    if (forMs <= boundMs) continue;
    throw world.broken('progress', `${who(waiting)} has waited for ${Math.round(forMs)} ms`);
  }
}

const who = ({ node, kind, resource }: Waiting): string =>
  `${node.name}, which wants to ${kind} ${resource},`;
