/**
 * Which credits a member brings into a new view (rule S7).
 *
 * A *cohort* is the set of members that took part in one view together; their credits, held and on their way, are at most their
 * number. When views change, cohorts must not be mixed: a member that took the credits of a peer into a view without that peer, which then begins with one
 * credit of its own, would have made credits.
 *
 *     deliver V ──► says to all members which view it last took part in ──► acts in V, and has heard this word from all ──► takes part in V
 *
 * On taking part, a member **keeps** its credits if all members of its former cohort, with the same incarnations, are in V *and came from that same
 * cohort*. Otherwise the member **restarts** with one credit. Members that kept together keep the accounts between them; all other accounts, also those with
 * servers outside V, are closed, and the gifts on their way in them are dropped.
 *
 * **Why the credits of a view are at most its members.** The members that took part in V fall into those that restarted, with one credit each, and
 * whole former cohorts. A whole cohort U ⊆ V brings at most |U| credits, by induction: all holders of U's credits are in V, came from U (so none of
 * them has taken part in another view since), and what is on its way between them stays in their accounts. All members of U have the same words and come to the
 * same answer. A gift from outside is on an account that is closed here, and is dropped. ∎
 *
 * The word for a view does not change: a member takes part in V once, and says where it came from before that. The word is repeated
 * to members whose own word is missing; a repeated word is answered.
 */

import { keyOf, type MemberId } from '../../../membership/core/incarnation.ts';
import { assert } from '../../../runtime/assert.ts';
import type { Word } from './messages.ts';

export interface SpreadView {
  readonly id: string;
  readonly members: readonly MemberId[];
}

export interface Entry {
  readonly keepsCredits: boolean;
  /** The accounts to have from now on. */
  readonly lines: ReadonlyMap<string, { readonly id: MemberId; readonly line: string }>;
}

interface Cohort {
  readonly id: string;
  readonly members: ReadonlySet<string>;
}

export class Participation {
  readonly #self: () => MemberId;
  /** The last word of each process. */
  readonly #words = new Map<string, Word>();
  #cohort: Cohort;
  #view: SpreadView | undefined;
  #cameFrom: string;
  #takesPart = false;

  constructor(self: () => MemberId) {
    this.#self = self;
    const key = keyOf(self());
    this.#cohort = { id: `alone ${key}`, members: new Set([key]) };
    this.#cameFrom = this.#cohort.id;
  }

  /** The view in which this member last took part, or a text of its own. */
  get cohort(): string {
    return this.#cohort.id;
  }

  /** The cohort that this member's word for the present view names, also once the member takes part in the view. */
  get cameFrom(): string {
    return this.#cameFrom;
  }

  get view(): SpreadView | undefined {
    return this.#view;
  }

  /** Whether this member takes part in the view delivered last. */
  get takesPart(): boolean {
    return this.#takesPart;
  }

  get words(): readonly Word[] {
    const { members } = this.#view ?? { members: [] };
    return members.flatMap((member) => this.#wordOf(member) ?? []);
  }

  /** The members whose word for this view is missing. */
  get unheard(): readonly MemberId[] {
    const self = keyOf(this.#self());
    const members = this.#view?.members ?? [];
    return members.filter((member) => keyOf(member) !== self && this.#wordOf(member) === undefined);
  }

  deliver(view: SpreadView): void {
    this.#view = view;
    this.#cameFrom = this.#cohort.id;
    this.#takesPart = false;
    const keys = new Set(view.members.map(keyOf));
    for (const [key, word] of this.#words) {
      if (word.view !== view.id && !keys.has(key)) this.#words.delete(key);
    }
  }

  hear(from: MemberId, word: Word): void {
    this.#words.set(keyOf(from), word);
  }

  /** Takes part in the view, in which this member acts and has heard from all. */
  enter(lineWith: (member: MemberId) => string | undefined): Entry {
    const view = this.#view;
    assert(view !== undefined && this.unheard.length === 0, 'a member takes part once it has heard from all');
    const self = keyOf(this.#self());
    const cameAlong = new Set<string>();
    for (const member of view.members) {
      const key = keyOf(member);
      if (key === self || this.#wordOf(member)?.from === this.#cohort.id) cameAlong.add(key);
    }
    const keepsCredits = [...this.#cohort.members].every((key) => cameAlong.has(key));
    const lines = new Map<string, { id: MemberId; line: string }>();
    for (const id of view.members) {
      const key = keyOf(id);
      if (key === self) continue;
      const old = keepsCredits && cameAlong.has(key) ? lineWith(id) : undefined;
      lines.set(key, { id, line: old ?? view.id });
    }
    this.#cohort = { id: view.id, members: new Set(view.members.map(keyOf)) };
    this.#takesPart = true;
    return { keepsCredits, lines };
  }

  #wordOf(member: MemberId): Word | undefined {
    const word = this.#words.get(keyOf(member));
    return word?.view === this.#view?.id ? word : undefined;
  }
}
