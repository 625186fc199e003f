/**
 * Spread limits, wrong by a line each time. A promise counts as checked once the mutants named for it are caught:
 * `npm run sim -- spread --mutants`.
 */

import type { Mutant } from '../../../sim/simulation.ts';

const ACCOUNT = 'ratelimit/core/spread/account.ts';
const BOOK = 'ratelimit/core/spread/account-book.ts';
const BUCKET = 'ratelimit/core/spread/level-bucket.ts';
const CREDITS = 'ratelimit/core/spread/credits.ts';
const LEVEL = 'ratelimit/core/spread/level.ts';
const LIMITER = 'ratelimit/core/spread/spread-limiter.ts';
const PARTICIPATION = 'ratelimit/core/spread/participation.ts';

export const mutants: readonly Mutant[] = [
  // Levels (L1 to L4).
  {
    name: 'acts-without-a-view-lease',
    promise: 'levels',
    story:
      'A member uses its credits although its view is not confirmed any more, and others act without it.',
    file: LIMITER,
    from: " && this.#sight.standing(now) === 'acts'",
    to: '',
  },
  {
    name: 'level-does-not-fall',
    promise: 'levels',
    story: 'A member that acts no more keeps the level of its credits (L3).',
    file: LEVEL,
    from: 'Math.min(this.#last, 1)',
    to: 'this.#last',
  },
  {
    name: 'level-rises-at-once',
    promise: 'levels',
    story:
      'A member with few credits that acts no more takes 1/n, while a peer still uses the credits that it gave (L4).',
    file: LEVEL,
    from: 'now >= promisesEndAt ? 1 : ',
    to: 'now >= promisesEndAt - 1e6 ? 1 : ',
  },
  {
    name: 'part-in-the-view-ignored',
    promise: 'levels',
    story: 'A member in a view uses 1/n although it has promised a view in which it has fewer credits (L2).',
    file: LEVEL,
    from: 'isInView ? Math.min(alone, credits) : alone',
    to: 'alone',
  },
  {
    name: 'level-not-lowered-by-a-gift',
    promise: 'levels',
    story: 'A member that gave credits away and is then cut off remembers the level from before.',
    file: LIMITER,
    from: '    this.#settle(now); // The level has fallen before any gift leaves.\n',
    to: '',
  },
  {
    name: 'credits-used-before-all-have-spoken',
    promise: 'levels',
    story:
      'A member that acts uses the credits of an earlier view before it knows whether it keeps them (decision 0065).',
    file: LEVEL,
    from: 'takesPart ? credits : Math.min(1, credits)',
    to: 'credits',
  },
  {
    name: 'whole-part-before-all-have-spoken',
    promise: 'levels',
    story:
      'A member that gave most of its credits away takes 1/n at every new view, until all have spoken (decision 0065).',
    file: LEVEL,
    from: 'takesPart ? credits : Math.min(1, credits)',
    to: 'takesPart ? credits : 1',
  },
  // The bucket.
  {
    name: 'bucket-not-cut',
    promise: 'tokens',
    story: 'A bucket keeps the tokens of credits that were given away, and the receiver fills its own.',
    file: BUCKET,
    from: 'Math.min(this.#tokens + gained, this.cap(level, maxServers));',
    to: 'Math.max(this.#tokens, Math.min(this.#tokens + gained, this.cap(level, maxServers)));',
  },
  // Views (S7).
  {
    name: 'kept-without-asking-where-from',
    promise: 'credits',
    story:
      'Credits are kept if all members of the former view are here, though some have restarted in between.',
    file: PARTICIPATION,
    from: 'this.#wordOf(member)?.from === this.#cohort.id',
    to: 'this.#wordOf(member) !== undefined',
  },
  {
    name: 'kept-without-the-whole-cohort',
    promise: 'credits',
    story:
      'Members keep their credits in a view without a member of their cohort, which restarts with one elsewhere and comes back.',
    file: PARTICIPATION,
    from: '[...this.#cohort.members].every((key) => cameAlong.has(key))',
    to: 'cameAlong.size > 1',
  },
  {
    name: 'accounts-not-closed',
    promise: 'credits',
    story:
      'The account with a process outside the view stays open, and its gift is added to a cohort it does not belong to.',
    file: BOOK,
    from: 'if (!lines.has(key)) this.#peers.delete(key);',
    to: 'if (!lines.has(key)) continue;',
  },
  {
    name: 'account-kept-by-a-restarted-member',
    promise: 'credits',
    story: 'A member that restarts with one credit also gets the gifts of before.',
    file: PARTICIPATION,
    from: 'keepsCredits && cameAlong.has(key) ? lineWith(id) : undefined',
    to: 'lineWith(id)',
  },
  {
    name: 'gift-of-another-view-accepted',
    promise: 'credits',
    story: 'A gift of a closed account arrives late and is added.',
    file: BOOK,
    from: '    if (message.line !== line) return;\n',
    to: '',
  },
  // Accounts (S5).
  {
    name: 'gift-not-subtracted',
    promise: 'credits',
    story: 'The giver keeps what it gives.',
    file: CREDITS,
    from: '      this.#held -= amount;\n',
    to: '',
  },
  {
    name: 'repeated-transfer-added',
    promise: 'credits',
    story: 'A transfer that arrives twice is added twice.',
    file: ACCOUNT,
    from: '    if (cur <= this.#seen) return undefined;\n',
    to: '',
  },
  {
    name: 'accepted-items-not-subtracted',
    promise: 'credits',
    story: 'A transfer that repeats unacknowledged items adds them again.',
    file: ACCOUNT,
    from: 'minus(amount, sum(this.#notes))',
    to: 'amount',
  },
  {
    name: 'notes-never-forgotten',
    promise: 'converges',
    story: 'Items that a transfer no longer contains are subtracted from it, and credits are lost.',
    file: ACCOUNT,
    from: 'this.#notes.filter(({ number }) => number > lo)',
    to: 'this.#notes',
  },
  {
    name: 'acknowledgements-ignored',
    promise: 'converges',
    story: 'No transfer is ever settled directly, so every peer ends on the blacklist.',
    file: ACCOUNT,
    from: 'if (seen <= this.#acknowledged || seen > this.#last) return;',
    to: 'if (seen >= 0) return;',
  },
  // Cut links (S6).
  {
    name: 'no-blacklist',
    promise: 'converges',
    story: 'A member gives again and again over a link that is cut, and its credits stay on their way.',
    file: BOOK,
    from: 'const SENDINGS_MAX = 4;',
    to: 'const SENDINGS_MAX = 1e9;',
  },
  {
    name: 'no-reconciling',
    promise: 'conserves',
    story: 'A gift over a cut link is given up, and not taken back.',
    file: BOOK,
    from: 'if (back !== undefined && back.length > 0) this.#around.add(back);',
    to: '',
  },
  {
    name: 'late-transfer-not-voided',
    promise: 'credits',
    story: 'The giver has taken a gift back that arrives all the same.',
    file: ACCOUNT,
    from: 'this.#seen = Math.max(this.#seen, cur);',
    to: '',
  },
  {
    name: 'answer-to-settle-not-remembered',
    promise: 'conserves',
    story:
      'A repeated question is told that everything was seen, although the rest was voided, and the giver takes nothing back.',
    file: ACCOUNT,
    from: 'if (this.#voided === undefined || cur > this.#voided.cur) {',
    to: 'if (cur >= 0) {',
  },
];
