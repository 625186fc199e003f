/**
 * Where the next view comes from. Everything else about views is the same in both flavours of a group: records, promises, holds, leases
 * on views, chains, clients, and why views that act at one time share no server (`member.ts`). That argument never asks how a proposal was found.
 *
 *  - **By reach** (this file): the servers that reach each other, less those in conflict (`graph.ts`). Each side of a partition has a view.
 *  - **By registry** (`by-registry.ts`): the servers registered in etcd, all of them. There is one view in the world.
 */

import { instant, type Instant } from '../../../runtime/time.ts';
import type { Membership, SetMember } from '../incarnation.ts';
import type { RecordTable } from '../record-table.ts';

export interface Agreement {
  /** Until when this server may act in any view, and confirm one. */
  readonly actsUntil: Instant;
  /** The set that this server proposes; without members while there is none for this server. */
  membershipWith(self: SetMember, table: RecordTable): Membership;
  /** For how long a server may act to which no member of this set has promised anything. */
  holdMs(now: Instant): number;
}

export const BY_REACH: Agreement = {
  actsUntil: instant(Number.POSITIVE_INFINITY),
  membershipWith: (self, table) => table.graph.membershipWith(self),
  holdMs: () => 0,
};
