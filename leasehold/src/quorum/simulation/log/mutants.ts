/**
 * The log on a quorum cell, and the claim under the leader lease, wrong by a line each time. A promise counts as checked once
 * the mutants named for it are caught: `npm run sim -- quorum-log --mutants`.
 */

import type { Mutant } from '../../../sim/simulation.ts';

const CLAIM = 'quorum/core/key-claim.ts';
const READS = 'quorum/core/reads.ts';
const CAMPAIGN = 'quorum/fenced-log/campaign.ts';
const LEADING = 'quorum/fenced-log/leading.ts';
const COMPACTION = 'quorum/fenced-log/compaction.ts';
const VIEW = 'quorum/fenced-log/view.ts';
const REQUESTS = 'quorum/fenced-log/requests.ts';
const FOLLOWING = 'quorum/fenced-log/following.ts';
const LOG = 'quorum/fenced-log/quorum-log.ts';
const EXCHANGE = 'quorum/core/lease-exchange.ts';

export const mutants: readonly Mutant[] = [
  {
    name: 'append-without-its-fence',
    promise: 'fenced',
    story: 'An append takes effect although another leader was elected: only the head is compared.',
    file: LEADING,
    from: 'conditions: [hasRevision(TERM_KEY, revision), headIs],',
    to: 'conditions: [headIs],',
  },
  {
    name: 'append-without-its-head',
    promise: 'appended-once',
    story: 'A copy of an append under a new session takes effect although an earlier copy did.',
    file: LEADING,
    from: 'conditions: [hasRevision(TERM_KEY, revision), headIs],',
    to: 'conditions: [hasRevision(TERM_KEY, revision)],',
  },
  {
    name: 'unknown-append-taken-as-refused',
    promise: 'refused-never-appears',
    story: 'An append that an earlier copy has written is said to be refused.',
    file: LEADING,
    from: '} else if (decodeHead(head?.value) === position) this.#headRevision = head?.revision;',
    to: "} else if (decodeHead(head?.value) === position) {\n      this.#headRevision = head?.revision;\n      this.#finish(append, 'refused');\n      return;\n    }",
  },
  {
    name: 'unknown-append-given-up',
    promise: 'settles',
    story: 'An append whose answer was lost is never repeated, and its leader waits for ever.',
    file: REQUESTS,
    from: '      this.#again(() => this.#send(pending));',
    to: '',
  },
  {
    name: 'compaction-without-its-fence',
    promise: 'fenced',
    story: 'A deposed leader puts its snapshot in the place of what another leader goes on from.',
    file: COMPACTION,
    from: '{ conditions: [hasRevision(TERM_KEY, revision), ...conditions], actions },',
    to: '{ conditions, actions },',
  },
  {
    name: 'snapshot-counts-before-it-is-there',
    promise: 'readable',
    story: 'The pointer is switched while the last part of the snapshot is missing.',
    file: COMPACTION,
    from: 'if (part + 1 < parts) this.#putPart(job, part + 1);',
    to: 'if (part + 2 < parts) this.#putPart(job, part + 1);',
  },
  {
    name: 'sweep-takes-newer-batches',
    promise: 'nothing-lost',
    story: 'Batches after the snapshot are deleted with those before.',
    file: VIEW,
    from: '.filter((each) => each <= position);',
    to: '.filter((each) => each <= position + 2);',
  },
  {
    name: 'claim-extended-while-a-write-is-pending',
    promise: 'alone-within-lease',
    story: 'The leader lease goes on although another write of `term` is in the log of the replica.',
    file: CLAIM,
    from: '.some((slot) => couldWrite(log.at(slot).operation, key, revision));',
    to: '.some(() => false);',
  },
  {
    name: 'claim-passes-over-the-next-election',
    promise: 'alone-within-lease',
    story: 'A write of `term` that names our revision is taken for one that cannot take effect.',
    file: CLAIM,
    from: "(condition.is === 'revision' && condition.revision !== revision)",
    to: "condition.is === 'revision'",
  },
  {
    name: 'claim-kept-over-removal',
    promise: 'alone-within-lease',
    story: 'A leader relies on its lease although a configuration has removed its replica.',
    file: CLAIM,
    from: 'if (legalUntil < claim.until && claim.until > now) {',
    to: 'if (legalUntil < claim.until && claim.until > now + 1e9) {',
  },
  {
    name: 'claim-counted-too-long',
    promise: 'alone-within-lease',
    story: 'The leader lease lasts as long as the promises of one member less than a majority.',
    file: READS,
    from: 'promises[needed - 1] ?? NEVER',
    to: 'promises[needed - 2] ?? NEVER',
  },
  {
    name: 'claim-longer-than-a-lease',
    promise: 'lease-is-short',
    story: 'A leader lease has no bound but the promises, and a successor waits for one lease only.',
    file: CLAIM,
    from: 'const until = earliest(legalUntil, later(now, leaseMs));',
    to: 'const until = later(earliest(legalUntil, later(now, leaseMs)), 1_000);',
  },
  {
    name: 'elected-twice',
    promise: 'told-once',
    story: 'A leader is told of its election at every change that it sees.',
    file: CAMPAIGN,
    from: 'if (reign.leadership !== undefined || reign.until <= options.runtime.now()) return;',
    to: 'if (reign.until <= options.runtime.now()) return;',
  },
  {
    name: 'withdrawn-and-told',
    promise: 'told-once',
    story: 'A candidate that has withdrawn while its write was under way is elected.',
    file: CAMPAIGN,
    from: '    if (this.#life.isOver) {\n      this.#context.vacate(revision);\n      return;\n    }\n',
    to: '',
  },
  {
    name: 'resigned-and-still-named',
    promise: 'makes-room',
    story: 'A leader that resigns leaves its name, and nobody else may stand while its process lives.',
    file: LOG,
    from: '    if (revision <= this.#vacated) return;',
    to: '    if (revision > 0) return;',
  },
  {
    name: 'term-of-the-ballot-before',
    promise: 'terms-grow',
    story: 'The term is counted in thousands of slots, and two leaders share one.',
    file: LEADING,
    from: 'this.term = slotOf(options.revision);',
    to: 'this.term = slotOf(options.revision) - (slotOf(options.revision) % 10);',
  },
  {
    name: 'follower-goes-on-over-a-gap',
    promise: 'follower-complete',
    story: 'A follower whose missing batches are in a snapshot goes on with the next batch.',
    file: FOLLOWING,
    from: 'if (position === undefined || (view.pointer?.value.position ?? 0) > position) {',
    to: 'if (position === undefined) {',
  },
  {
    name: 'head-of-the-own-view',
    promise: 'head-fresh',
    story: 'A follower is told the head that its own process has seen.',
    file: FOLLOWING,
    from: '        else this.#events.head(head, askedAt);',
    to: '        else this.#events.head(this.#position ?? 0, askedAt);',
  },
  {
    name: 'claim-kept-over-suspension',
    promise: 'alone-within-lease',
    story: 'A leader counts its lease on a clock that stood still.',
    file: EXCHANGE,
    from: '  suspended(now: Instant): void {\n    this.#context.leases.drop();',
    to: '  suspended(now: Instant): void {',
  },
];
