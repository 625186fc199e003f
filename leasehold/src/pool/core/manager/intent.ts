/**
 * What a member is to do with its keys: as it says itself, or as an operator has ordered, whichever takes more from it.
 *
 * **Orders are in the log** (`order`), so a failover does not forget them, and they are about an incarnation: they end with the process. So a server that
 * is started again takes keys. An order counts from its commit on, before the owner has heard of it; the owner is asked to intend the same,
 * because it must finish what it was told of.
 */

import { handsAllOver, type Intent, type Report } from '../messages.ts';
import type { Member, MemberOrder } from '../table.ts';

const BY_STRENGTH: readonly Intent[] = ['stay', 'cordoned', 'emptying', 'draining'];

/** What an order asks a member to intend. A member whose keys are asked back has nothing else to do than one that hands them over. */
const INTENTS: Readonly<Record<MemberOrder, Intent>> = {
  cordoned: 'cordoned',
  emptying: 'emptying',
  released: 'emptying',
};

export const orderedIntent = (member: Pick<Member, 'order'> | undefined): Intent | undefined =>
  member?.order === undefined ? undefined : INTENTS[member.order];

export function intentOf(
  member: Pick<Member, 'order'> | undefined,
  report: Pick<Report, 'intent'> | undefined,
): Intent {
  const [said, ordered] = [report?.intent ?? 'stay', orderedIntent(member) ?? 'stay'];
  return BY_STRENGTH.indexOf(ordered) > BY_STRENGTH.indexOf(said) ? ordered : said;
}

/** Whether the keys of this member are to be elsewhere. */
export const isToBeEmpty = (
  member: Pick<Member, 'order'> | undefined,
  report: Pick<Report, 'intent' | 'leaving'> | undefined,
): boolean => report?.leaving === true || handsAllOver(intentOf(member, report));
