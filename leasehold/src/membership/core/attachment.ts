/**
 * A client is a process of the group that does not listen. A client is *attached* to one server at a time, which lists the client in
 * its record and speaks for it.
 *
 * A client that moves to another server is in two lists until the first server notices. So attachments of one name are ordered: by the
 * incarnation of the client's process, then by a count that grows with each attachment. In every set of lists the highest
 * attachment of a name counts and the others do not, so a client is in a view once. A client that hears of a higher attachment of its own name, as
 * after a restart with a clock that went back, takes a higher incarnation still.
 */

import { compareIncarnations, type MemberId } from './incarnation.ts';

export interface Attachment extends MemberId {
  /** Counts the servers to which this process attached itself, one after the other. */
  readonly count: number;
}

/**
 * The clients of one server, sorted by name, and the parts of the toolkit in which the server takes part, such as shared limits. Each change has a greater version.
 *
 * Members agree on sets that name the version of each list (`incarnation.ts`), so all members of a view know the same clients and the same parts of each member.
 */
export interface ClientList {
  readonly version: number;
  readonly clients: readonly Attachment[];
  readonly parts: readonly string[];
}

export const NO_CLIENTS: ClientList = { version: 0, clients: [], parts: [] };

export const compareAttachments = (one: Attachment, other: Attachment): number =>
  compareIncarnations(one.incarnation, other.incarnation) || one.count - other.count;

export const isSameAttachment = (one: Attachment, other: Attachment): boolean =>
  one.name === other.name && compareAttachments(one, other) === 0;

/** All clients of these lists, sorted by name, each once. */
export function clientsOf(lists: readonly ClientList[]): readonly Attachment[] {
  const highest = new Map<string, Attachment>();
  for (const { clients } of lists) {
    for (const client of clients) {
      const known = highest.get(client.name);
      if (known === undefined || compareAttachments(client, known) > 0) highest.set(client.name, client);
    }
  }
  return sortedByName([...highest.values()]);
}

export const sortedByName = <Named extends { readonly name: string }>(named: readonly Named[]): Named[] =>
  named.toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0));
