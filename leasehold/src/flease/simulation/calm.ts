/**
 * What must happen once nothing goes wrong any more.
 *
 *     faults end ├─ all recover ─┤ ready ├─ what was begun ends ─┤ at rest ├─ everybody in turn ─┤ no more ├─ all is forgotten ─┤
 *
 * Ready is who takes part, and has nothing against anybody; and nothing is on its way any more that was said among faults:
 * a copy of a word that somebody no longer waits, which comes after its next wish, would take it out of line.
 *
 *  - **progress.** Everybody who waits is granted what it waits for, within a bound that grows with how many there
 *    are. When all begin anew, with nothing in their way but each other, they take turns: a process stands in line once
 *    for all of its own, so while one waits there, each other process has it as often as there are callers in
 *    one; and a few times more, until there is a line.
 *  - **forgets.** When nobody holds or wants anything, no acceptor keeps a register for longer than the lemma of
 *    `register.ts` asks for.
 */

import type { LinkFaults } from '../../sim/network.ts';
import type { Waiting } from './checker.ts';
import type { FleaseWorld } from './flease-world.ts';

/** Attempts that meet others, and their pauses, in times to answer: for one change of holder. */
const ANSWERS_PER_TURN = 8;
/**
 * How often another may come first who should not. Words cross, and when all begin at once there is no line yet; most
 * have the last word within a turn or two. With clocks that are nearly half a lease apart it takes the slower ones
 * longer to be heard at all.
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

/** Suspensions end by themselves; then all have to move, to settle, and to be silent if they must. */
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
 * Whoever waits has it once, and whoever has it gives it back. Some wait for a word that was lost, and so for
 * somebody's end.
 */
function comeToRest(flease: FleaseWorld): void {
  flease.mood = 'at-rest';
  playOut(flease, () => flease.callers.some(({ isBusy }) => isBusy));
}

/** They have it several times each, one after the other. */
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

/** Goes on for as long as somebody has something to do, and sees that nobody waits for too long. */
function playOut(flease: FleaseWorld, areBusy: () => boolean): void {
  const { world, drawn, nodes } = flease;
  const { leaseMs, clockSkewMs, answerMs } = drawn.durations;
  const beganMs = world.trueMs;
  const contenders = nodes.length * drawn.callersEach;
  const boundMs =
    (contenders + 1) * ANSWERS_PER_TURN * answerMs + Math.max(...drawn.holdMs) + 2 * (leaseMs + clockSkewMs);
  while (areBusy() || isAnythingHeld(flease)) {
    nobodyStarves(flease, beganMs, boundMs);
    if (world.trueMs > beganMs + 10 * boundMs) throw world.broken('progress', 'it does not come to an end');
    world.run({ untilMs: world.trueMs + leaseMs / 20 });
  }
}

/** How long something may be on its way. */
const slowestMs = ({ delayMs = [0, 0], slowMs = [0, 0] }: Partial<LinkFaults>): number =>
  Math.max(delayMs[1], slowMs[1]);

const isAnythingHeld = ({ nodes }: FleaseWorld): boolean =>
  nodes.some(
    ({ member }) => member !== undefined && ([...member.tenures].length > 0 || member.hasUnfinished),
  );

function isReady(flease: FleaseWorld): boolean {
  return whyNotReady(flease) === '';
}

function whyNotReady({ nodes, operator }: FleaseWorld): string {
  for (const { name, member, process } of nodes) {
    if (!process.running || member === undefined) return `${name} does not run`;
    if (member.silence !== undefined) return `${name} is silent: ${member.silence.why}`;
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
