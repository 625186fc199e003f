/** Above everything else: how the Manager is, and which pool is looked at. */

import { printable } from '../../../leasehold/src/runtime/printable.ts';
import type { PoolSummary, StatusAnswer } from './api.ts';
import { element, make } from './elements.ts';
import { model } from './model.ts';
import { counted, seconds, uptime } from './words.ts';

export function showManager(status: StatusAnswer): void {
  element('manager', HTMLElement).textContent = [
    `Manager ${printable(status.id)}`,
    status.role,
    ...(status.term === null ? [] : [`term ${status.term}`]),
    ...(status.position === null ? [] : [`commit ${status.position}`]),
    counted(status.lookups, 'look-up'),
    `up ${uptime(status.uptimeSeconds)}`,
  ].join(' · ');
  showLeader(status);
  document.title = status.role === 'leading' ? 'Leasehold' : `Leasehold (${status.role})`;
  const notice = element('notice', HTMLElement);
  const text = printable(noticeOf(status));
  notice.hidden = text === '';
  notice.textContent = text;
}

function noticeOf({ role, haltedBecause, whyNotReady, waitsMs }: StatusAnswer): string {
  const why = haltedBecause ?? whyNotReady;
  if (why !== null) return `${role === 'halted' ? 'Halted' : 'Not ready'}: ${why}`;
  if (waitsMs === null) return '';
  return `Owners are not known yet: this Manager waits ${seconds(waitsMs)} more for leases of an earlier leader to expire`;
}

/** Of one that stands by: who leads, with the way to its page, because only there one sees everything. */
function showLeader({ id, role, leader, managers }: StatusAnswer): void {
  const shown = element('leader', HTMLElement);
  shown.hidden = role !== 'standby';
  const isKnown = leader !== null && leader.id !== id;
  const where = isKnown && leader.address !== null ? `, at ${leader.address}` : '';
  const text = isKnown
    ? printable(`${leader.id} leads${where}`)
    : 'no Manager leads, as far as this one knows';
  const place = isKnown ? (managers.find(({ isLeader }) => isLeader)?.http ?? '') : '';
  if (shown.textContent === text && shown.dataset['place'] === place) return;
  shown.dataset['place'] = place;
  const link = make('a', '', text);
  link.href = place;
  // It is what others say of themselves, and must be the address of a page.
  if (/^https?:$/.test(link.protocol) && place !== '') shown.replaceChildren(link);
  else shown.textContent = text;
}

/** The pool that is looked at stays so for as long as there is one of that name. */
export function showPools(pools: readonly PoolSummary[]): void {
  const select = element('pool', HTMLSelectElement);
  const names = pools.map(({ name }) => name);
  if (!names.includes(model.pool)) model.pool = names[0] ?? '';
  const shown = [...select.options].map(({ value }) => value);
  if (shown.length !== names.length || shown.some((name, index) => name !== names[index])) {
    select.replaceChildren(...names.map(option));
  }
  select.value = model.pool;
}

function option(name: string): HTMLOptionElement {
  const made = make('option', '', name);
  made.value = name;
  return made;
}
