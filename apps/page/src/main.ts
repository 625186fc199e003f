/** The page of a Manager: what a person can do there, and when it looks by itself. */

import { darkness } from './colours.ts';
import { showConnection } from './connection.ts';
import { element } from './elements.ts';
import { explainKey } from './key.ts';
import { model } from './model.ts';
import { showAges } from './owners.ts';
import { refreshOrSay, refreshSoon } from './refresh.ts';
import { drawRing } from './ring.ts';
import { follow } from './stream.ts';

const LOOK_EVERY_MS = 2_000;
/** Ages are counted on between two looks, and while nobody answers. */
const TICK_MS = 500;

element('ask', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  model.key = element('key', HTMLInputElement).value;
  void explainKey();
});

element('pool', HTMLSelectElement).addEventListener('change', () => {
  model.pool = element('pool', HTMLSelectElement).value;
  model.lostUntil.clear();
  history.replaceState(null, '', `#${encodeURIComponent(model.pool)}`);
  void refreshOrSay();
});

new ResizeObserver(drawRing).observe(element('ring', HTMLCanvasElement));
darkness.addEventListener('change', () => void refreshOrSay());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) refreshSoon();
});
setInterval(() => {
  if (!document.hidden) void refreshOrSay();
}, LOOK_EVERY_MS);

setInterval(() => {
  showConnection();
  showAges();
}, TICK_MS);

void follow();
