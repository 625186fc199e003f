/**
 * Becoming the leader: what must a candidate know before it may propose anything?
 *
 * It must know every value that may have been chosen under a lower ballot, or it could propose another one for the same slot.
 * Members that promise its ballot accept nothing below it any more, and report what they have accepted. Whatever was
 * chosen was accepted by a majority, and so at least one of a majority that reports has it.
 *
 *     reports    a: chosen 10,  11²  12²                 superscript: the ballot
 *                b: chosen 9,   10² 11³
 *     merged        10 (chosen)   11³  12²               the highest ballot of each slot wins
 *
 * Majority of what? Of the last chosen configuration, and of every later one in the merged log: any of them may be in force. So
 * a report can raise the number of reports that are needed, and the candidate goes on collecting.
 *
 * A copy of a directory may have forgotten accepted entries, and says so (`copy.ts`). Such a report counts for no majority. But if
 * every member has reported, all that complete members have accepted is known.
 *
 * Reports begin behind the slots that the candidate knew to be chosen when it asked. If it learns a snapshot of later slots meanwhile, it no
 * longer knows which configuration was in force there, and gives up: the next candidacy asks from the new place on.
 *
 * Before it disturbs anybody a member asks whether the others would agree (the pre-vote, which changes nothing): one that was
 * merely cut off does not depose a leader that the others hear. A member that says no names the ballot that it has promised, so that the next question is
 * above it.
 */

import type { Ballot } from './ballot.ts';
import { type Electorate, isQuorum, isSeated } from './configuration.ts';
import type { Entry, ReplicatedLog } from './log.ts';
import type { Prepared } from './messages.ts';
import type { Operation } from './operation.ts';

export interface Merged {
  /** The slots from `first` on. */
  readonly first: number;
  readonly operations: readonly Operation[];
  /** All slots up to this one are chosen. */
  readonly chosen: number;
  /** All slots up to this one are committed. */
  readonly committed: number;
}

export type Verdict =
  | { readonly is: 'open' }
  /** The newest configuration does not seat the candidate, or the log has left the reports behind. */
  | { readonly is: 'hopeless' }
  | { readonly is: 'elected'; readonly merged: Merged };

export class Candidacy {
  readonly ballot: Ballot;
  /** The candidate's chosen prefix when it asked: reports begin after it. */
  readonly #from: number;
  readonly #reports = new Map<string, Prepared>();

  constructor(ballot: Ballot, chosen: number) {
    this.ballot = ballot;
    this.#from = chosen;
  }

  /** Takes a report, and says whether the candidate now leads. */
  report(storage: string, prepared: Prepared, self: string, log: ReplicatedLog): Verdict {
    if (log.base > this.#from) return { is: 'hopeless' };
    this.#reports.set(storage, prepared);
    const merged = this.#merge();
    const configurations = countingAfterMerge(merged, log);
    const isTrusted = (member: string): boolean => this.#reports.get(member)?.isComplete === true;
    const hasAll = ({ members }: Electorate): boolean =>
      members.every((each) => this.#reports.has(each.storage));
    const isDecided = configurations.every((each) => isQuorum(each, isTrusted) || hasAll(each));
    if (!isDecided) return { is: 'open' };
    const newest = configurations[0] as Electorate;
    return isSeated(newest, self) ? { is: 'elected', merged } : { is: 'hopeless' };
  }

  #merge(): Merged {
    const reports = [...this.#reports.values()];
    const best = reports.reduce((a, b) => (b.chosen > a.chosen ? b : a));
    const chosen = Math.max(best.chosen, this.#from);
    const committed = Math.max(...reports.map((report) => report.committed));
    const operations = best.entries.slice(0, chosen - this.#from).map(({ operation }) => operation);
    for (;;) {
      const next = highest(reports, operations.length);
      if (next === undefined) return { first: this.#from + 1, operations, chosen, committed };
      operations.push(next.operation);
    }
  }
}

/** Of the entries that were reported for one slot, the one with the highest ballot. */
function highest(reports: readonly Prepared[], place: number): Entry | undefined {
  let top: Entry | undefined;
  for (const { entries } of reports) {
    const entry = entries[place];
    if (entry !== undefined && (top === undefined || entry.ballot > top.ballot)) top = entry;
  }
  return top;
}

/** The last chosen configuration and every later one, the newest first. */
function countingAfterMerge({ first, operations, chosen }: Merged, log: ReplicatedLog): Electorate[] {
  const counting: Electorate[] = [];
  for (let place = operations.length - 1; place >= 0; place -= 1) {
    const operation = operations[place] as Operation;
    if (operation.kind !== 'configuration') continue;
    counting.push(operation.configuration);
    if (first + place <= chosen) return counting;
  }
  counting.push(log.configurationAt(first - 1));
  return counting;
}
