/**
 * Asks, hand-overs and answers as bytes: one to a frame of a connection, or several in a datagram of a group (`bundle.ts`).
 *
 * Limits and times are doubles, all other numbers varints. A rate keeps the rules of an option, so the core need not doubt one.
 */

import { brokenRule } from '../../runtime/errors.ts';
import { Flaw } from '../../runtime/msgpack/flaw.ts';
import {
  checked,
  double,
  flag,
  type Form,
  list,
  milliseconds,
  record,
  ruled,
  union,
  whole,
  wholeUpTo,
  withSamples,
  word,
} from '../../runtime/wire/form.ts';
import { KEY_MAX } from '../core/local/local-limiter.ts';
import { resolveRate } from '../core/local/rate.ts';
import { PAGES_MAX } from '../core/shared/hand-over.ts';
import {
  type Answer,
  type Ask,
  type Cut,
  type HandedKey,
  type HandedLoan,
  type HandOver,
  type Leftover,
  NAME_MAX,
  SERVERS_MAX,
} from '../core/shared/messages.ts';
import { characters, finite, time } from './bounds.ts';

/** Batches that can be alive at once: one ask after the other, and each batch lives 400 ms. */
const LEFTOVERS_MAX = 10_000;
/** A process, as `name#id` or as a member of a group. */
const PROCESS_MAX = 300;
const SCOPE_MAX = 4_000;
const CUTS_MAX = 64;
const LOANS_MAX = 10_000;
/** Keys of a page of a hand-over. */
const KEYS_MAX = 100_000;
/** Three hundred years. */
const AGE_MS_MAX = 1e13;

const limiter = characters(NAME_MAX);
const key = characters(KEY_MAX);

/** A part of a limit: its samples make rates that an option may have, whichever meet. */
const rate = withSamples(double, () => [100, 5_000]);

const left = list<Leftover>(record<Leftover>({ id: whole, tokens: whole }), LEFTOVERS_MAX);

const cut = record<Cut>({
  at: checked(finite(AGE_MS_MAX), (at) => at <= 0, 'must not be in the future'),
  share: withSamples(
    checked(double, (share) => share > 0 && share < 1, 'must be a part'),
    () => [0.5, 0.75],
  ),
});
const age = milliseconds(AGE_MS_MAX);
const loan = record<HandedLoan>({
  borrower: characters(PROCESS_MAX),
  id: whole,
  tokens: whole,
  ms: finite(AGE_MS_MAX),
});
const handedKey = record<HandedKey>({
  ...{ limiter, key, fullMs: age, msPerToken: age },
  loans: list(loan, LOANS_MAX),
});

/** What the owner of a key is told. */
export type ToOwner = Ask | HandOver;

const declared = union<'kind', ToOwner>('kind', {
  ask: {
    ...{ id: whole, limiter, key, limit: rate, perMs: rate, burst: rate, isDefault: flag },
    whenLost: word('full', 'empty'),
    ...{ maxServers: wholeUpTo(SERVERS_MAX), need: whole, want: whole, left },
  },
  'hand-over': {
    ...{ id: whole, page: whole, pages: wholeUpTo(PAGES_MAX), scope: characters(SCOPE_MAX), ageMs: age },
    ...{ cuts: list(cut, CUTS_MAX), keys: list(handedKey, KEYS_MAX) },
  },
});

const keepsRules = (message: ToOwner): ToOwner => {
  if (message.kind === 'ask') {
    checkRate(message);
    if (message.need > message.want) throw new Flaw('must not be above want', 'need');
  } else if (message.page >= message.pages) throw new Flaw('must be below pages', 'page');
  return message;
};

export const toOwner: Form<ToOwner> = ruled(
  withSamples(declared, () =>
    declared
      .samples()
      .map((sample) =>
        sample.kind === 'ask'
          ? { ...sample, want: Math.max(sample.need, sample.want) }
          : { ...sample, page: 0, pages: Math.max(1, sample.pages) },
      ),
  ),
  keepsRules,
);

export const answer: Form<Answer> = union<'kind', Answer>('kind', {
  grant: { id: whole, tokens: whole, remaining: whole, resetMs: time },
  denial: { id: whole, retryAfterMs: time, resetMs: time },
  later: { id: whole },
  taken: { id: whole, page: whole },
});

function checkRate({ limit, perMs, burst }: Ask): void {
  try {
    resolveRate({ limit, per: perMs, burst });
  } catch (error) {
    const broken = brokenRule(error);
    if (broken === undefined) throw error;
    throw new Flaw(broken.rule.replace(/^it /, ''), broken.option);
  }
}
