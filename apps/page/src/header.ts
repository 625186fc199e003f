/** Above everything else: how the Manager is, and which pool is looked at. */

import type { PoolSummary, StatusAnswer } from './api.ts';
import { element, make } from './elements.ts';
import { model } from './model.ts';
import { counted, uptime } from './words.ts';

export function showManager(status: StatusAnswer): void {
  element('manager', HTMLElement).textContent = [
    `Manager ${status.id}`,
    status.role,
    `term ${status.term}`,
    `commit ${status.logPosition}`,
    counted(status.lookups, 'look-up'),
    `up ${uptime(status.uptimeSeconds)}`,
  ].join(' · ');
  document.title = status.role === 'leading' ? 'Leasehold' : `Leasehold (${status.role})`;
  const notice = element('notice', HTMLElement);
  const why = status.haltedBecause ?? status.whyNotReady;
  notice.hidden = why === null;
  notice.textContent = why === null ? '' : `${status.role === 'halted' ? 'Halted' : 'Not ready'}: ${why}`;
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
