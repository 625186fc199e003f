/**
 * Whether we hear the Manager. Two things tell, the stream of its events and its answers to what we ask, and
 * either can fail alone: live is what both say.
 */

import { element } from './elements.ts';

const SAYS = { live: 'live', trying: 'connecting', lost: 'disconnected, trying again' };

let stream: 'not tried' | 'open' | 'broken' = 'not tried';
let isAnswered = true;

export function streamIs(state: 'open' | 'broken'): void {
  stream = state;
  show();
}

export function answersCome(doThey: boolean): void {
  isAnswered = doThey;
  show();
}

function show(): void {
  const state = !isAnswered || stream === 'broken' ? 'lost' : stream === 'open' ? 'live' : 'trying';
  const shown = element('connection', HTMLElement);
  if (shown.dataset['state'] === state) return;
  shown.dataset['state'] = state;
  shown.textContent = SAYS[state];
}
