/**
 * Shared limits, wrong by a line each time. A promise counts as checked once the mutants named for it are caught:
 * `npm run sim -- ratelimit --mutants`.
 */

import type { Mutant } from '../../sim/simulation.ts';

const BORROWED = 'ratelimit/core/shared/borrowed-key.ts';
const CUT_OFF = 'ratelimit/core/shared/when-cut-off.ts';
const DIRECTORY = 'ratelimit/core/shared/directory.ts';
const LIMITER = 'ratelimit/core/shared/shared-limiter.ts';
const LIMITS = 'ratelimit/core/shared/sharer.ts';
const LOANS = 'ratelimit/core/shared/loans.ts';
const MINTER = 'ratelimit/core/shared/minter.ts';
const TABLE = 'ratelimit/core/local/key-table.ts';
const TIMING = 'ratelimit/core/shared/timing.ts';
const TURNS = 'ratelimit/core/shared/turns.ts';

export const mutants: readonly Mutant[] = [
  // The owner.
  {
    name: 'new-owner-mints-at-once',
    promise: 'sum',
    story: 'A new owner mints while tokens of its predecessor are still in use.',
    file: DIRECTORY,
    from: 'now >= since + LOAN_MS;',
    to: 'now >= since;',
  },
  {
    name: 'mints-without-the-key',
    promise: 'sum',
    story: 'A process that is asked grants tokens of a key that it does not hold.',
    file: LIMITER,
    from: 'const right = this.#directory.rightTo(this.options.name, ask.key, now);',
    to: 'const right = this.#directory.rightTo(this.options.name, ask.key, now) ?? { at: now, since: -1e9, isOpen: true, share: 1, cuts: [] };',
  },
  {
    name: 'empty-start-is-full',
    promise: 'sum',
    story: 'An owner that is to start empty starts full.',
    file: MINTER,
    from: "if (whenLost === 'full') return fullAt;",
    to: 'return fullAt;',
  },
  {
    name: 'granted-tokens-not-charged',
    promise: 'sum',
    story: 'Tokens are lent and stay in the bucket as well.',
    file: MINTER,
    from: 'const charged = fullAfter(fullAt, now, tokens, rate);',
    to: 'const charged = fullAfter(fullAt, now, 0, rate);',
  },
  {
    name: 'grants-what-is-wanted',
    promise: 'sum',
    story: 'A borrower gets what it wants as soon as there is what it needs.',
    file: MINTER,
    from: 'const tokens = Math.min(wanted, there);',
    to: 'const tokens = there >= need ? wanted : there;',
  },
  {
    name: 'loan-not-recorded',
    promise: 'sum',
    story: 'Nobody remembers that tokens are away, so the bucket fills up beside them.',
    file: MINTER,
    from: 'shared.loans.add(borrower, id, tokens, now + LOAN_MS);',
    to: '',
  },
  {
    name: 'limiter-made-late-starts-anew',
    promise: 'sum',
    story:
      'A process mints for others before it has made its own limiter, and forgets what it minted when it makes it.',
    file: LIMITS,
    from: 'const limiter = this.#newLimiter(options, this.#foreign.get(name)?.minter);',
    to: 'const limiter = this.#newLimiter(options);',
  },
  {
    name: 'key-forgotten-too-soon',
    promise: 'sum',
    story: 'A key is forgotten before its bucket is full, and counts as full from then on.',
    file: TABLE,
    from: 'this.fullAt(this.#hand) <= now) this.#release',
    to: 'this.fullAt(this.#hand) <= now + 400) this.#release',
  },
  {
    name: 'owner-serves-itself-first',
    promise: 'no-starvation',
    story: 'The owner takes every new token for its own requests, and the others get none.',
    file: MINTER,
    from: 'const ahead = shared?.turns.ahead(HERE, now) ?? 0;',
    to: 'const ahead = 0;',
  },
  {
    name: 'turns-that-never-end',
    promise: 'calm-use',
    story: 'Tokens are kept for a process that does not come for them.',
    file: TURNS,
    from: 'this.#turns = this.#turns.filter(({ until }) => now < until);',
    to: '',
  },

  // Loans.
  {
    name: 'tokens-away-not-counted',
    promise: 'sum',
    story: 'A bucket fills up although its tokens are away, and both are spent at once.',
    file: LOANS,
    from: 'this.#fullAt = Math.max(this.#fullAt, now + missingMs(share));',
    to: 'this.#fullAt = Math.max(this.#fullAt, now);',
  },
  {
    name: 'bucket-jumps-at-a-report',
    promise: 'sum',
    story: 'When a borrower reports that it has used its tokens, the bucket has them back at once.',
    file: LOANS,
    from: '    this.fullAt(rate, right);\n',
    to: '',
  },
  {
    name: 'report-counts-for-later-batches',
    promise: 'sum',
    story: 'An old report that comes late is taken to say that newer batches are used up.',
    file: LOANS,
    from: 'if (loan.borrower !== borrower || loan.id >= id) continue;',
    to: 'if (loan.borrower !== borrower) continue;',
  },
  {
    name: 'report-counts-for-all-borrowers',
    promise: 'sum',
    story: 'What one borrower reports is taken to be true of all.',
    file: LOANS,
    from: 'if (loan.borrower !== borrower || loan.id >= id) continue;',
    to: 'if (loan.id >= id) continue;',
  },
  {
    name: 'loan-without-clock-margin',
    promise: 'sum',
    story: 'A loan ends at an owner with a fast clock before the batch ends at a borrower with a slow one.',
    file: TIMING,
    from: '  leaseMs: GRANT_MS,\n  suspensionToleranceMs: SUSPENSION_TOLERANCE_MS,\n',
    to: '  leaseMs: (GRANT_MS + SUSPENSION_TOLERANCE_MS) / 1.2 ** 2,\n  suspensionToleranceMs: 0,\n',
  },

  // The borrower.
  {
    name: 'batch-counted-from-answer',
    promise: 'sum',
    story: 'A borrower counts a batch from the answer, and uses tokens after the owner has given them up.',
    file: LIMITER,
    from: 'borrowed.granted(ask.id, answer.tokens, ask.at);',
    to: 'borrowed.granted(ask.id, answer.tokens, now);',
  },
  {
    name: 'answer-counted-twice',
    promise: 'sum',
    story: 'A grant that the network repeats is used twice.',
    file: LIMITER,
    from: 'this.#asked.delete(answer.id);',
    to: '',
  },
  {
    name: 'late-answer-counts',
    promise: 'sum',
    story: 'A grant is used although a later ask has said that it is not there.',
    file: LIMITER,
    from: 'if (before !== undefined) this.#asked.delete(before);',
    to: '',
  },
  {
    name: 'tokens-stay-in-the-batch',
    promise: 'sum',
    story: 'Tokens are used and stay in the batch.',
    file: BORROWED,
    from: '      batch.tokens -= taken;',
    to: '',
  },
  {
    name: 'batch-that-never-ends',
    promise: 'sum',
    story: 'Tokens of a batch are used after its time.',
    file: BORROWED,
    from: 'first !== undefined && first.until <= now;',
    to: 'first !== undefined && first.until <= now - 1_000;',
  },
  {
    name: 'suspended-borrower-keeps-batches',
    promise: 'sum',
    story: 'After a suspension that its clock did not count, a borrower goes on with its batches.',
    file: LIMITER,
    from: '      borrowed.drop();',
    to: '',
  },
  {
    name: 'refund-of-reported-tokens',
    promise: 'sum',
    story: 'Tokens are given back into a batch although the owner was told that they are used.',
    file: BORROWED,
    from: '    for (const batch of this.#batches) batch.used = 0;\n',
    to: '',
  },
  {
    name: 'denial-not-kept',
    promise: 'flood',
    story: 'Every request that is denied costs an ask and an answer.',
    file: LIMITER,
    from: 'borrowed.denied(ask.need, later(now, answer.retryAfterMs), later(now, DENIAL_MS));',
    to: 'borrowed.denied(ask.need, now, now);',
  },
  {
    name: 'denial-kept-too-long',
    promise: 'calm-use',
    story: 'A key is denied long after it has tokens again.',
    file: LIMITER,
    from: 'borrowed.denied(ask.need, later(now, answer.retryAfterMs), later(now, DENIAL_MS));',
    to: 'borrowed.denied(ask.need, later(now, answer.retryAfterMs + 1_000), later(now, DENIAL_MS));',
  },
  {
    name: 'used-tokens-never-reported',
    promise: 'calm-use',
    story: 'Tokens count as away long after they were used, and a small bucket never fills.',
    file: TIMING,
    from: '1.5 * LOAN_MS;',
    to: '0 * LOAN_MS;',
  },
  {
    name: 'idle-keys-stay',
    promise: 'forgets',
    story: 'A process remembers every key that it ever asked for.',
    file: LIMITER,
    from: 'if (!borrowed.isIdle(now, this.#cutOff.rememberedMs)) this.#keys.set(key, borrowed);',
    to: 'if (now >= 0 || borrowed.waiting.length > 0) this.#keys.set(key, borrowed);',
  },

  // Owners that leave.
  {
    name: 'handed-over-level-forgotten',
    promise: 'sum',
    story: 'The next owner takes a key over and begins with a full bucket.',
    file: MINTER,
    from: 'if (fullAt > at && !this.levels.setFullAt(key, place, fullAt, at)) return false;',
    to: '',
  },
  {
    name: 'mints-after-the-hand-over',
    promise: 'sum',
    story: 'An owner hands its keys over and goes on with the same buckets until the keys are given back.',
    file: LIMITS,
    from: 'this.#handing === undefined ? directory.rightTo(limiter, key, now) : undefined,',
    to: 'directory.rightTo(limiter, key, now),',
  },

  // Without the owner.
  {
    name: 'share-of-an-unknown-number',
    promise: 'cut-off',
    story: 'A process that never knew how many processes share the limit takes itself for the only one.',
    file: CUT_OFF,
    from: 'const maxServers = policy.maxServers ?? members;',
    to: 'const maxServers = policy.maxServers ?? members ?? 1;',
  },
  {
    name: 'share-of-the-whole',
    promise: 'cut-off',
    story: 'Every process that is cut off lets the whole limit through.',
    file: CUT_OFF,
    from: 'rate, 1 / maxServers, now), by',
    to: 'rate, 1, now), by',
  },
  {
    name: 'cut-off-begins-with-each-request',
    promise: 'cut-off',
    story: 'The time for which requests are let through begins anew with each of them.',
    file: LIMITER,
    from: '      borrowed.cutOff.since,\n      now,\n',
    to: '      now,\n      now,\n',
  },
  {
    name: 'cut-off-forgotten-at-once',
    promise: 'cut-off',
    story: 'A cut-off is forgotten between two requests, and its time begins anew.',
    file: CUT_OFF,
    from: 'const ADMITTING_REMEMBERED_MS = 60_000;',
    to: 'const ADMITTING_REMEMBERED_MS = 0;',
  },
  {
    name: 'waits-too-long',
    promise: 'in-time',
    story: 'A request waits for an owner that does not answer, long after its time.',
    file: LIMITER,
    from: 'const until = later(now, askTimeoutMs);',
    to: 'const until = later(now, 3 * askTimeoutMs);',
  },
  {
    name: 'waiting-request-forgotten',
    promise: 'decided-once',
    story: 'A request that waited in vain is never decided.',
    file: LIMITER,
    from: "      effects.push({ do: 'settle', id, result });\n    }\n    return effects;\n  }\n\n  #scheduleTryAgain",
    to: '    }\n    return effects;\n  }\n\n  #scheduleTryAgain',
  },
  {
    name: 'shorter-wait-behind-a-longer',
    promise: 'in-time',
    story: 'A request that may wait for a shorter time than the request before it waits as long as that.',
    file: LIMITER,
    from: '        place += 1;\n        continue;',
    to: '        break;',
  },
  {
    name: 'given-up-request-decided',
    promise: 'decided-once',
    story: 'A request whose caller has given up is decided all the same, and takes tokens.',
    file: LIMITER,
    from: 'if (at >= 0) waiting.splice(at, 1);',
    to: '',
  },
  {
    name: 'open-for-ever',
    promise: 'cut-off',
    story: 'A process that is open for a time stays open.',
    file: CUT_OFF,
    from: "if (policy.kind === 'closed' || now >= cutOffSince + policy.forMs)",
    to: "if (policy.kind === 'closed')",
  },
  {
    name: 'cut-off-with-the-whole-limit',
    promise: 'cut-off',
    story: 'A process that is cut off uses the limit of all processes.',
    file: CUT_OFF,
    from: 'const msPerToken = rate.msPerToken / factor;',
    to: 'const { msPerToken } = rate;',
  },
];
