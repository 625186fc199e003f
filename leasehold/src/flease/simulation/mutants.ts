/**
 * Flease, wrong by a line each time. A promise counts as checked once the mutants named for it are caught:
 * `npm run sim -- flease --mutants`. Those with a number in brackets are faults of another implementation, found by
 * reading and running it.
 */

import type { Mutant } from '../../sim/simulation.ts';

const REGISTER = 'flease/register.ts';
const BALLOT = 'flease/ballot.ts';
const ATTEMPT = 'flease/attempt.ts';
const DECISION = 'flease/decision.ts';
const LEASE = 'flease/lease.ts';
const MEMBER = 'flease/member.ts';
const PROPOSER = 'flease/proposer.ts';
const CLAIM = 'flease/claim.ts';
const OPTIONS = 'flease/options.ts';
const CLOCK = 'flease/group-clock.ts';
const OTHERS = 'flease/acquaintances.ts';
const VIEW = 'flease/view.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'told-what-one-member-has',
    promise: 'agreement',
    story: 'Who asks is told what was found, although no majority may have it.',
    file: DECISION,
    from: "return isCertain ? { do: 'say', lease: found } : { do: 'write', lease: found };",
    to: "return { do: 'say', lease: found };",
  },
  {
    name: 'over-by-the-time-of-the-answer',
    promise: 'agreement',
    story: 'Who asks is told that nobody has what is over by now, though it was renewed since they answered.',
    file: DECISION,
    from: '  if (askedMs > overMs) return',
    to: '  if (Math.max(askedMs, nowMs) > overMs) return',
  },
  {
    name: 'no-wait-for-the-skew',
    promise: 'one-holder',
    story: 'A lease is taken as soon as it is over by the own clock; its holder may be behind.',
    file: LEASE,
    from: '  return lease.untilMs + skewMs;',
    to: '  return lease.untilMs;',
  },
  {
    name: 'no-silence-after-a-restart',
    promise: 'silent-after-restart',
    story: 'A member that remembers nothing answers at once.',
    file: OPTIONS,
    from: 'recoveryMs: leaseMs + 2 * clockSkewMs,',
    to: 'recoveryMs: 0,',
  },
  {
    name: 'silence-of-one-lease',
    promise: 'silent-after-restart',
    story:
      'A member that remembers nothing is silent for a lease, as the paper says, and not for two skews more.',
    file: OPTIONS,
    from: 'recoveryMs: leaseMs + 2 * clockSkewMs,',
    to: 'recoveryMs: leaseMs,',
  },
  {
    name: 'asks-while-recovering',
    promise: 'silent-after-restart',
    story: '(2) The silence binds what others ask, and not the own proposer.',
    file: PROPOSER,
    from: '    this.#isSilent = true;\n',
    to: '',
  },
  {
    name: 'no-silence-after-a-jump',
    promise: 'one-holder',
    story: 'The clock was set, and what was held by the clock before is still held.',
    file: CLOCK,
    from: 'return Math.max(steppedMs, leftBehindMs) > this.#toleranceMs;',
    to: 'return Math.max(steppedMs, leftBehindMs) > 1e12 * this.#toleranceMs;',
  },
  {
    name: 'ballot-without-interval',
    promise: 'one-holder',
    story: 'Ballots are compared by round: after forgetting, a lower one is heeded.',
    file: BALLOT,
    from: '  if (byInterval !== 0) return byInterval;\n',
    to: '',
  },
  {
    name: 'ballot-of-another-life',
    promise: 'held-until-said',
    story: '(6) A restarted member may have the ballot that it had before, and an equal one is heeded.',
    file: BALLOT,
    from: '  return a.life - b.life || a.attempt - b.attempt;',
    to: '  return 1;',
  },
  {
    name: 'counted-from-the-answer',
    promise: 'one-holder',
    story: 'A lease is held for its length from when a majority had answered.',
    file: PROPOSER,
    from: 'new Tenure(claim.resource, lease.number, lease.untilMs)',
    to: 'new Tenure(claim.resource, lease.number, nowMs + this.#settings.durations.leaseMs)',
  },
  {
    name: 'majority-of-one-less',
    promise: 'one-holder',
    story: 'Half of the members count as most of them.',
    file: VIEW,
    from: 'Math.floor(members / 2) + 1',
    to: 'Math.floor((members + 1) / 2)',
  },
  {
    name: 'refusal-counts-as-consent',
    promise: 'one-holder',
    story: '(3) A member that refuses to write is counted among those who have written.',
    file: ATTEMPT,
    from: "    if (answer.kind === 'refused') return this.#refuse(from, answer);\n    if ((answer.kind === 'accepted') !== this.isWriting) return 'waiting';",
    to: "    if (answer.kind === 'refused' && !this.isWriting) return this.#refuse(from, answer);\n    if ((answer.kind !== 'promised') !== this.isWriting) return 'waiting';",
  },
  {
    name: 'other-view-counts-as-consent',
    promise: 'one-holder',
    story:
      '(4) A member that says it is in another view is counted among those who have promised or written.',
    file: ATTEMPT,
    from: "    if (answer.kind === 'refused') return this.#refuse(from, answer);\n    if ((answer.kind === 'accepted') !== this.isWriting) return 'waiting';",
    to: "    if (answer.kind === 'refused' && answer.why !== 'other-view') return this.#refuse(from, answer);\n    if (answer.kind !== 'refused' && (answer.kind === 'accepted') !== this.isWriting) return 'waiting';",
  },
  {
    name: 'answers-counted-without-names',
    promise: 'one-holder',
    story: '(5) Two answers are two members, though one of them came twice.',
    file: ATTEMPT,
    from: '    const yes = this.#quorums.with(this.#yes, from);\n',
    to: '    const next = this.audience.find((member) => !this.#quorums.includes(this.#yes, member)) ?? from;\n    const yes = this.#quorums.with(this.#yes, next);\n',
  },
  {
    name: 'promise-counts-as-acceptance',
    promise: 'one-holder',
    story: 'A promise that comes when all is read is taken for the word that it is written.',
    file: ATTEMPT,
    from: "    if ((answer.kind === 'accepted') !== this.isWriting) return 'waiting';\n",
    to: '',
  },
  {
    name: 'lower-ballot-promised',
    promise: 'one-holder',
    story: 'A read under a lower ballot than the one that was promised is promised as well.',
    file: REGISTER,
    from: "    if (order <= 0) return { refused: 'outbid', round: this.#roundToExceed(register.promised, ballot) };",
    to: '    if (order === 0) return LATE;',
  },
  {
    name: 'forgotten-with-the-lease',
    promise: 'one-holder',
    story: 'A register is dropped when its lease is over by the acceptor, whose clock may be ahead.',
    file: REGISTER,
    from: '    return askedMs + this.#durations.leaseMs + this.#durations.clockSkewMs;',
    to: '    return askedMs + this.#durations.leaseMs - this.#durations.clockSkewMs;',
  },
  {
    name: 'change-without-overlap',
    promise: 'one-holder',
    story: 'A majority of the members in the next view is enough from the first.',
    file: VIEW,
    from: 'this.#beforeNeeded = before === undefined ? 0 : majorityOf(before.length);',
    to: 'this.#beforeNeeded = 0;',
  },
  {
    name: 'settled-at-once',
    promise: 'one-holder',
    story: 'A change is settled when a majority has moved, though what they gave before is still held.',
    file: MEMBER,
    from: ': this.#movedAtMs + this.#settings.durations.recoveryMs;',
    to: ': this.#movedAtMs;',
  },
  {
    name: 'words-of-another-view-heeded',
    promise: 'one-holder',
    story: 'A member that has moved goes on to serve those who have not.',
    file: MEMBER,
    from: "    if (view !== this.#view.number) return 'other-view';\n",
    to: '',
  },
  {
    name: 'numbers-counted-not-clocked',
    promise: 'numbers-grow',
    story: 'A number is one more than the last, and begins anew when that is forgotten.',
    file: LEASE,
    from: 'const number = Math.max(Math.floor(askedMs * NUMBERS_PER_MS), (before?.number ?? 0) + 1);',
    to: 'const number = (before?.number ?? 0) + 1;',
  },
  {
    name: 'numbers-by-the-clock-alone',
    promise: 'numbers-grow',
    story: 'A number does not exceed that of the one before, whose clock was ahead.',
    file: LEASE,
    from: 'const number = Math.max(Math.floor(askedMs * NUMBERS_PER_MS), (before?.number ?? 0) + 1);',
    to: 'const number = Math.floor(askedMs * NUMBERS_PER_MS) + 0 * (before?.number ?? 0);',
  },
  {
    name: 'granted-when-it-is-over',
    promise: 'valid-when-returned',
    story: 'A majority answers after the end, and it is granted all the same.',
    file: PROPOSER,
    from: 'const request = nowMs > lease.untilMs ? undefined : claim.shift();',
    to: 'const request = claim.shift();',
  },
  {
    name: 'renewed-when-it-was-over',
    promise: 'told-of-the-end',
    story: 'A renewal that is answered late revives what had lapsed.',
    file: PROPOSER,
    from: '    if (tenure?.isHeldAt(nowMs)) {\n      tenure.untilMs = lease.untilMs;',
    to: '    if (tenure !== undefined) {\n      tenure.untilMs = lease.untilMs;',
  },
  {
    name: 'given-back-before-it-is-let-go-of',
    promise: 'one-holder',
    story: 'A lease is used until the others have heard that it is given back, and one of them has it.',
    file: PROPOSER,
    from: "    this.#end(claim, 'released');\n    this.#leave(",
    to: '    this.#leave(',
  },
  {
    name: 'taken-while-somebody-has-it',
    promise: 'one-holder',
    story: 'What is found to be held is taken all the same.',
    file: DECISION,
    from: "  if (found !== undefined && nowMs <= takeAtMs) return { do: 'leave', lease: found, takeAtMs };\n",
    to: "  if (found !== undefined && nowMs <= takeAtMs - durations.leaseMs / 2) return { do: 'leave', lease: found, takeAtMs };\n",
  },
  {
    name: 'lower-ballot-written',
    promise: 'one-holder',
    story: 'A write is accepted although a higher ballot was promised meanwhile.',
    file: REGISTER,
    from: "    if (order < 0) return { refused: 'outbid', round: this.#roundToExceed(register.promised, ballot) };\n",
    to: '',
  },
  {
    name: 'nothing-is-forgotten',
    promise: 'forgets',
    story: 'Registers of resources that nobody has used for long are kept.',
    file: REGISTER,
    from: 'if (nowMs > atMs) this.#registers.delete(resource);',
    to: 'if (nowMs > atMs + 1e9) this.#registers.delete(resource);',
  },
  {
    name: 'granted-and-wanted-still',
    promise: 'answered-once',
    story: 'Whoever was granted it stays among those who want it, and is granted it again.',
    file: CLAIM,
    from: "return this.#takeOut(this.#requests.findIndex(({ kind }) => kind !== 'ask'));",
    to: "return this.#requests.find(({ kind }) => kind !== 'ask');",
  },
  {
    name: 'ends-unnoticed',
    promise: 'told-of-the-end',
    story: 'A lease runs out and nobody is told.',
    file: CLAIM,
    from: '    if (tenure !== undefined) tenure.ended = reason;\n',
    to: "    if (reason === 'lapsed') return undefined;\n    if (tenure !== undefined) tenure.ended = reason;\n",
  },
  {
    name: 'ending-unnoticed',
    promise: 'told-of-the-end',
    story: 'A lease that could not be renewed runs out without a word of warning.',
    file: PROPOSER,
    from: "      this.#settings.tell({ kind: 'ending', tenure });\n",
    to: '',
  },
  {
    name: 'wakes-too-early',
    promise: 'comes-to-an-end',
    story: 'A member is woken at the very instant before something is over, again and again.',
    file: CLOCK,
    from: 'Math.max(0, ms - this.#shownMs) + FINEST_MS',
    to: 'Math.max(0, ms - this.#shownMs)',
  },
  {
    name: 'ahead-once-unheard-for-long',
    promise: 'progress',
    story: 'A member whose clock was far ahead is not heard in its next life, until that time has come.',
    file: OTHERS,
    from: 'return Math.min(sentMs, nowMs + this.#settings.durations.clockSkewMs);',
    to: 'return sentMs + 0 * nowMs;',
  },
  {
    name: 'waits-by-the-wrong-clock',
    promise: 'progress',
    story: 'Who was to try again at some time waits for that time, although its clock was put right.',
    file: CLAIM,
    from: '    this.#tryAtMs = AT_ONCE;\n    this.#lookAtMs = NEVER;\n',
    to: '    this.#lookAtMs = NEVER;\n',
  },
];
