/**
 * Views for clients, as differences.
 *
 * A view of thousands of clients changes by a few at a time, and every client must hear of each change. So a server sends the difference
 * to the view that the client has said to hold, and the whole view only if there is none, or if the server has forgotten that view. A difference
 * fits one base: the client applies the difference only to the view with the number of the base, and otherwise says again which view it
 * holds. Numbers are the server's count of its views, so they mean nothing at another server or after a restart.
 */

import { type Attachment, isSameAttachment } from './attachment.ts';
import { isSameIncarnation, type MemberId } from './incarnation.ts';

/** A view as clients see it. */
export interface ClientView {
  readonly id: string;
  /** Sorted by name. */
  readonly servers: readonly MemberId[];
  /** Sorted by name, each once. */
  readonly clients: readonly Attachment[];
}

export interface ViewDifference {
  readonly id: string;
  /** Undefined: the difference to a view without anybody, which is the whole view. */
  readonly base: number | undefined;
  /** New ones, and those whose incarnation or attachment changed; sorted by name. */
  readonly servers: readonly MemberId[];
  readonly clients: readonly Attachment[];
  /** Names. */
  readonly serversGone: readonly string[];
  readonly clientsGone: readonly string[];
}

/** Views to which the server can tell a difference. */
const REMEMBERED = 8;

const NOBODY: ClientView = { id: '', servers: [], clients: [] };

export class ViewHistory {
  readonly #views = new Map<number, ClientView>();
  readonly #differences = new Map<number, ViewDifference>();
  #number = 0;

  /** The number of the newest view; 0 before the first. */
  get number(): number {
    return this.#number;
  }

  add(view: ClientView): void {
    this.#number += 1;
    this.#views.set(this.#number, view);
    this.#views.delete(this.#number - REMEMBERED);
    this.#differences.clear();
  }

  /** The newest view for a client that holds the view with this number, or none. Computed once for all clients that hold the same. */
  differenceTo(held: number): ViewDifference {
    const base = this.#views.has(held) ? held : 0;
    let difference = this.#differences.get(base);
    if (difference === undefined) {
      const next = this.#views.get(this.#number) ?? NOBODY;
      difference = differenceOf(this.#views.get(base) ?? NOBODY, next, base === 0 ? undefined : base);
      this.#differences.set(base, difference);
    }
    return difference;
  }
}

function differenceOf(base: ClientView, next: ClientView, number: number | undefined): ViewDifference {
  return {
    ...{ id: next.id, base: number },
    servers: changed(base.servers, next.servers, (one, other) =>
      isSameIncarnation(one.incarnation, other.incarnation),
    ),
    clients: changed(base.clients, next.clients, isSameAttachment),
    serversGone: gone(base.servers, next.servers),
    clientsGone: gone(base.clients, next.clients),
  };
}

export const applyDifference = (base: ClientView | undefined, difference: ViewDifference): ClientView => ({
  id: difference.id,
  servers: applied((base ?? NOBODY).servers, difference.servers, difference.serversGone),
  clients: applied((base ?? NOBODY).clients, difference.clients, difference.clientsGone),
});

function changed<Item extends MemberId>(
  base: readonly Item[],
  next: readonly Item[],
  isSame: (one: Item, other: Item) => boolean,
): Item[] {
  const known = new Map(base.map((item) => [item.name, item]));
  return next.filter((item) => {
    const before = known.get(item.name);
    return before === undefined || !isSame(before, item);
  });
}

function gone(base: readonly MemberId[], next: readonly MemberId[]): string[] {
  const names = new Set(next.map(({ name }) => name));
  return base.filter(({ name }) => !names.has(name)).map(({ name }) => name);
}

function applied<Item extends MemberId>(
  base: readonly Item[],
  changes: readonly Item[],
  goneNames: readonly string[],
): readonly Item[] {
  if (changes.length === 0 && goneNames.length === 0) return base;
  // Both lists are sorted by name, so they are merged: a client may have to do this for thousands of names at each view.
  const out = new Set(goneNames);
  const items: Item[] = [];
  let next = 0;
  for (const item of base) {
    for (
      let change = changes[next];
      change !== undefined && change.name < item.name;
      change = changes[next]
    ) {
      items.push(change);
      next += 1;
    }
    if (changes[next]?.name !== item.name && !out.has(item.name)) items.push(item);
  }
  return [...items, ...changes.slice(next)];
}
