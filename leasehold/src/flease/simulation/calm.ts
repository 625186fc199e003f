/**
 * What must happen once nothing goes wrong any more.
 *
 *     faults end ├─ all recover ─┤ ready ├─ everybody in turn ─┤ no more ├─ all is forgotten ─┤
 *
 *  - **progress.** Everybody who waits is granted what it waits for, within a bound that grows with how many there
 *    are. Hardly anybody waits while others have more turns than there are others, and nobody while they have four
 *    times as many.
 *  - **forgets.** When nobody holds or wants anything, no acceptor keeps a register for longer than the lemma of
 *    `register.ts` asks for.
 */

import type { Waiting } from './checker.ts';
import type { FleaseWorld } from './flease-world.ts';

/** Attempts that meet others, and their pauses, in times to answer: for one change of holder. */
const ANSWERS_PER_TURN = 8;
/** How often others may come first, for each of them. */
const TURNS_EACH = 4;
/** In a perfect round one waits for as many as there are; whoever comes while words are on their way, for some more. */
const FAIR_TURNS = 1.5;
/** How many may be overtaken at all: when all begin at once there is no line yet. */
const OVERTAKEN_MAX = 2;
const OVERTAKEN_SHARE = 0.25;

export function seeCalm(flease: FleaseWorld): void {
  const { world, network, timekeeping, operator, drawn, checker } = flease;
  const { leaseMs, clockSkewMs, recoveryMs, answerMs } = drawn.durations;

  network.heal();
  network.setFaults(drawn.calmLinks);
  timekeeping.rest();
  for (const node of flease.nodes) node.process.resume();
  operator.startAll();
  // Suspensions end by themselves; then all have to move, to settle, and to be silent if they must.
  const readyByMs = world.trueMs + 4 * leaseMs + 3 * drawn.operatorMs + 8 * recoveryMs;
  while (!isReady(flease)) {
    if (world.trueMs > readyByMs) throw world.broken('progress', `not ready: ${whyNotReady(flease)}`);
    world.run({ untilMs: world.trueMs + leaseMs / 10 });
    operator.startAll();
  }

  flease.mood = 'in-turn';
  const beganMs = world.trueMs;
  const contenders = flease.nodes.length * drawn.callersEach;
  const boundMs =
    (contenders + 1) * ANSWERS_PER_TURN * answerMs + Math.max(...drawn.holdMs) + 2 * (leaseMs + clockSkewMs);
  let granted = 0;
  let overtaken = 0;
  checker.onGrant = (waiting) => {
    world.count('granted in turn');
    if (waiting.sinceMs < beganMs) return;
    const { turns } = waiting;
    if (turns > TURNS_EACH * contenders)
      throw world.broken('progress', `${who(waiting)} was overtaken ${turns} times`);
    granted += 1;
    if (turns > FAIR_TURNS * contenders) overtaken += 1;
  };
  // They have it three times each, one after the other.
  while (isAnythingToDo(flease)) {
    nobodyStarves(flease, beganMs, boundMs);
    if (world.trueMs > beganMs + 10 * boundMs) throw world.broken('progress', 'it does not come to an end');
    world.run({ untilMs: world.trueMs + leaseMs / 20 });
  }
  if (overtaken > OVERTAKEN_MAX + OVERTAKEN_SHARE * granted) {
    throw world.broken('progress', `of ${granted} who waited ${overtaken} were overtaken`);
  }
  world.run({ untilMs: world.trueMs + leaseMs + 2 * clockSkewMs + leaseMs / 4 });
  for (const { name, member } of flease.nodes) {
    if (member === undefined || member.registersKept === 0) continue;
    throw world.broken('forgets', `${name} keeps ${member.registersKept} registers although all is over`);
  }
}

const isAnythingToDo = ({ callers, nodes }: FleaseWorld): boolean =>
  callers.some(({ isDone }) => !isDone) ||
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
