/** The table of owners. A row stays the same element for as long as its owner lives. */

import type { OwnerAnswer } from './api.ts';
import { colourOf } from './colours.ts';
import { element, make } from './elements.ts';
import { ageMs, model } from './model.ts';
import { drawRing } from './ring.ts';
import { intentText, seconds } from './words.ts';

interface OwnerRow {
  readonly row: HTMLTableRowElement;
  readonly state: HTMLElement;
  readonly share: HTMLElement;
  readonly bar: HTMLElement;
  /** Where the share should be. */
  readonly wanted: HTMLElement;
  readonly ranges: HTMLElement;
  readonly heard: HTMLElement;
  readonly load: HTMLElement;
}

/** By incarnation. */
const known = new Map<string, OwnerRow>();

export function showOwners(owners: readonly OwnerAnswer[]): void {
  const body = element('owners', HTMLElement);
  const rows = owners.map((owner) => {
    const shown = known.get(owner.incarnation) ?? newRow(owner);
    known.set(owner.incarnation, shown);
    fill(shown, owner);
    return shown.row;
  });
  for (const incarnation of known.keys()) if (!model.owners.has(incarnation)) known.delete(incarnation);
  // Only when somebody came or went: moving rows under a pointer is unkind.
  const isSame =
    rows.length === body.children.length && rows.every((row, index) => row === body.children[index]);
  if (!isSame) body.replaceChildren(...rows);
  element('no-owners', HTMLElement).hidden = owners.length > 0;
}

function newRow({ incarnation, name, url }: OwnerAnswer): OwnerRow {
  const row = make('tr');
  const cell = (className: string): HTMLElement => row.appendChild(make('td', className));
  const first = cell('');
  first.append(make('div', 'name', name), make('div', 'url', url));
  const state = first.appendChild(make('div', 'state'));
  const second = cell('');
  const share = second.appendChild(make('div', 'share'));
  const scale = second.appendChild(make('div', 'bar'));
  const bar = scale.appendChild(make('div'));
  const wanted = scale.appendChild(make('i'));
  row.title = `incarnation ${incarnation}`;
  row.addEventListener('pointerenter', () => light(incarnation));
  row.addEventListener('pointerleave', () => light(undefined));
  return {
    row,
    state,
    share,
    bar,
    wanted,
    ranges: cell('count'),
    heard: cell('count'),
    load: cell('count load'),
  };
}

/** While nobody answers: how long ago things were goes on counting, how they are is as it was. */
export function showAges(): void {
  for (const [incarnation, owner] of model.owners) {
    const shown = known.get(incarnation);
    if (shown !== undefined) fillAges(shown, owner);
  }
}

/** A whole bar is the whole ring: the bars of all owners together are one. */
function fill(shown: OwnerRow, owner: OwnerAnswer): void {
  shown.row.style.setProperty('--swatch', colourOf(owner.name));
  shown.share.textContent = `${owner.sharePercent.toFixed(1)} %`;
  shown.bar.style.width = `${owner.sharePercent}%`;
  shown.wanted.hidden = owner.wantedPercent === null;
  shown.wanted.style.left = `${owner.wantedPercent ?? 0}%`;
  shown.wanted.title = `wanted: ${owner.wantedPercent ?? 0} %`;
  shown.ranges.textContent = String(owner.ranges);
  shown.load.textContent = owner.load === null ? '–' : String(Math.round(owner.load * 100) / 100);
  fillAges(shown, owner);
}

function fillAges(shown: OwnerRow, owner: OwnerAnswer): void {
  const age = ageMs();
  shown.heard.textContent = owner.heardAgoMs === null ? '–' : `${seconds(owner.heardAgoMs + age)} ago`;
  // Judged by what the Manager said: that it says nothing now is not the owner's silence.
  const isSilent = owner.heardAgoMs !== null && owner.heardAgoMs > model.silentAfterMs;
  shown.state.className = isSilent ? 'state bad' : 'state';
  shown.state.textContent = stateText(owner, isSilent, age);
}

function stateText(owner: OwnerAnswer, isSilent: boolean, age: number): string {
  if (isSilent && owner.keptForMs !== null) {
    return `silent; its keys are kept for ${seconds(Math.max(0, owner.keptForMs - age))} more`;
  }
  if (!owner.isMember) return 'wants to join';
  if (owner.isLeaving) return 'is leaving';
  return owner.recalledRanges > 0 ? `gives back ${owner.recalledPercent} %` : intentText(owner);
}

function light(incarnation: string | undefined): void {
  model.litOwner = incarnation;
  drawRing();
}
