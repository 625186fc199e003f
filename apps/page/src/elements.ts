/**
 * The elements of the document, found and made. Whatever came from outside becomes text and nothing else, with characters
 * that would reorder or hide text shown by their codes.
 */

import { printable } from '../../../leasehold/src/runtime/printable.ts';

/** @throws if the document has no such element: it is ours, so that is a fault in the page */
export function element<Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} called ${id}`);
  return found;
}

export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className = '',
  text = '',
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  if (className !== '') made.className = className;
  if (text !== '') made.textContent = printable(text);
  return made;
}
