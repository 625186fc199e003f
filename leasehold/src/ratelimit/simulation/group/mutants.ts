/**
 * Shared limits on a group, wrong by a line each time: in the directory, in the minter, and in the membership beneath. The rules of asks and answers
 * have their mutants in the simulation on a pool (`../mutants.ts`): `npm run sim -- ratelimit-group --mutants`.
 */

import { mutants as ofMembership } from '../../../membership/simulation/mutants.ts';
import type { Mutant } from '../../../sim/simulation.ts';

const GROUP = 'ratelimit/core/shared/group-directory.ts';
const LIMITS = 'ratelimit/core/shared/sharer.ts';
const LOANS = 'ratelimit/core/shared/loans.ts';
const MINTER = 'ratelimit/core/shared/minter.ts';
const CLIENTS = 'membership/core/clients.ts';

/** A fault of membership, which a promise of shared limits has to catch, too. */
const beneath = (name: string, promise: 'sum' | 'parts'): readonly Mutant[] =>
  ofMembership.filter((mutant) => mutant.name === name).map((mutant) => ({ ...mutant, promise }));

export const mutants: readonly Mutant[] = [
  // Membership.
  ...beneath('no-view-lease', 'parts'),
  ...beneath('no-hold', 'parts'),
  ...beneath('no-recovery-after-a-start', 'parts'),
  ...beneath('suspension-ignored', 'parts'),
  ...beneath('everybody-kept', 'parts'),

  // Which servers share limits.
  {
    name: 'owners-among-all-members',
    promise: 'calm-use',
    story: 'A server that shares no limits owns keys, and requests for these are denied.',
    file: GROUP,
    from: 'new SlotOwners(view.sharers);',
    to: 'new SlotOwners(view.members);',
  },
  {
    name: 'sharers-of-an-old-version',
    promise: 'parts',
    story:
      'A server begins or stops to share, and its list keeps its version: one view has several sets of sharers.',
    file: CLIENTS,
    from: 'this.#list = { version: version + 1, clients, parts:',
    to: 'this.#list = { version, clients, parts:',
  },

  // Rights.
  {
    name: 'mints-in-no-view',
    promise: 'parts',
    story: 'A server goes on with its last right when it may act in no view.',
    file: GROUP,
    from: "if (standing === 'none') return undefined;",
    to: "if (standing === 'none') return this.#views.at(-1);",
  },
  {
    name: 'begins-before-the-view-acts',
    promise: 'parts',
    story: 'A new owner begins while a server outside the view may still act.',
    file: GROUP,
    from: "if (standing === 'acts' && present.actedAt === undefined) {",
    to: 'if (present.actedAt === undefined) {',
  },
  {
    name: 'whole-limit-in-every-view',
    promise: 'parts',
    story: 'Each side of a partition mints the whole limit.',
    file: GROUP,
    from: "standing === 'acts' ? view.members.length / this.#greatestMax : keptShare;",
    to: "standing === 'acts' ? 1 : keptShare;",
  },
  {
    name: 'goes-on-for-all-members',
    promise: 'parts',
    story: 'A server that continues mints for members that have come from elsewhere.',
    file: GROUP,
    from: "standing === 'acts' ? view.members.length / this.#greatestMax : keptShare;",
    to: 'view.members.length / this.#greatestMax;',
  },
  {
    name: 'goes-on-whatever-was-between',
    promise: 'sum',
    story: 'A server goes on with a key that another server owned meanwhile.',
    file: GROUP,
    from: 'if (!chain.every(({ key, owners }) => owners?.ownerOf(slot) === name || wasGained(key))) return undefined;',
    to: '',
  },
  {
    name: 'new-owner-mints-at-once',
    promise: 'sum',
    story: 'A new owner mints while tokens of its predecessor are still in use.',
    file: GROUP,
    from: 'isOpen: isOpen(start.realAt, now)',
    to: 'isOpen: true || isOpen(start.realAt, now)',
  },

  // Servers that leave.
  {
    name: 'mints-after-the-hand-over',
    promise: 'parts',
    story: 'A server hands its keys over and goes on with them.',
    file: LIMITS,
    from: 'this.#handing === undefined ? directory.rightTo(limiter, key, now) : undefined,',
    to: 'directory.rightTo(limiter, key, now),',
  },
  {
    name: 'every-server-takes-over',
    promise: 'parts',
    story: 'Each server that is handed some keys takes all keys of the server that leaves.',
    file: GROUP,
    from: 'view.owners.ownerOf(slot) === leaving && next.ownerOf(slot) === name',
    to: "view.owners.ownerOf(slot) === leaving && next.ownerOf(slot) !== ''",
  },
  {
    name: 'taken-over-from-another-view',
    promise: 'parts',
    story:
      'A server takes keys over that were handed over in an earlier view, although another server owns them in the present one.',
    file: GROUP,
    from: 'if (view === undefined || view.id !== id || !view.sharers.includes(leaving)) return [];',
    to: 'if (view === undefined || id === "" || !view.sharers.includes(leaving)) return [];',
  },
  {
    name: 'handed-over-level-forgotten',
    promise: 'sum',
    story: 'The next owner takes a key over and begins with a full bucket.',
    file: MINTER,
    from: 'if (fullAt > at && !this.levels.setFullAt(key, place, fullAt, at)) return false;',
    to: '',
  },

  // Buckets.
  {
    name: 'bucket-jumps-back',
    promise: 'sum',
    story:
      'A server that had a small part gets its old bucket back with a larger part; the others have used theirs.',
    file: GROUP,
    from: 'if (share <= 0 || share >= 1) return;',
    to: 'if (share < 2) return;',
  },
  {
    name: 'mints-at-the-whole-rate',
    promise: 'sum',
    story: 'A server with a part of the limit mints at the rate of the whole.',
    file: GROUP,
    from: '(now - this.#realAt) * Math.min(share, this.#share);',
    to: 'now - this.#realAt;',
  },
  {
    name: 'part-with-a-whole-burst',
    promise: 'sum',
    story: 'A server with a part of the limit has the burst of the whole.',
    file: MINTER,
    from: 'Math.max(at + reserveMsOf(rate, right), this.levels.fullAt(place, at));',
    to: 'Math.max(at, this.levels.fullAt(place, at));',
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
    name: 'tokens-away-beside-the-part',
    promise: 'sum',
    story: 'A bucket holds its part of the burst although tokens of this part are away.',
    file: LOANS,
    from: '(this.#away + (1 - cutShare) * burst) * msPerToken;',
    to: 'Math.max(this.#away, (1 - cutShare) * burst) * msPerToken;',
  },
];
