/**
 * Whether what is shown is how things are. Three things tell: the stream of events, the answers to what we ask, and how
 * long ago the last answer was. A Manager that was killed fails at once; one that stands still keeps its connections and says
 * nothing, so only the age of its last answer tells. Data that may be out of date is shown grey, with the time it
 * is from.
 */

import { element } from './elements.ts';
import { model } from './model.ts';
import { clockTime } from './words.ts';

/** A look every two seconds: three of them without an answer. */
const STALE_AFTER_MS = 7_000;

type State = 'connecting' | 'live' | 'without events' | 'lost';

const SHOWN: Readonly<Record<Exclude<State, 'lost'>, { readonly data: string; readonly text: string }>> = {
  connecting: { data: 'trying', text: 'connecting' },
  live: { data: 'live', text: 'live' },
  'without events': { data: 'trying', text: 'no events arrive; connecting again' },
};

let stream: 'not tried' | 'open' | 'broken' = 'not tried';
let isAnswered = true;

export function streamIs(state: 'open' | 'broken'): void {
  stream = state;
  showConnection();
}

export function answersCome(doThey: boolean): void {
  isAnswered = doThey;
  if (doThey) model.readAt = { clockMs: performance.now(), wallMs: Date.now() };
  showConnection();
}

export function showConnection(): void {
  const state = stateNow();
  const { data, text } = state === 'lost' ? { data: 'lost', text: lostText() } : SHOWN[state];
  document.body.toggleAttribute('data-stale', state === 'lost' && model.readAt !== undefined);
  if (state === 'lost') document.title = 'Leasehold (disconnected)';
  const shown = element('connection', HTMLElement);
  if (shown.dataset['state'] === data && shown.textContent === text) return;
  shown.dataset['state'] = data;
  shown.textContent = text;
}

function stateNow(): State {
  const { readAt } = model;
  const isStale = readAt !== undefined && performance.now() - readAt.clockMs > STALE_AFTER_MS;
  if (!isAnswered || isStale) return 'lost';
  if (stream === 'broken') return 'without events';
  return stream === 'open' ? 'live' : 'connecting';
}

const lostText = (): string =>
  model.readAt === undefined
    ? 'no answer, trying again'
    : `disconnected; data from ${clockTime(model.readAt.wallMs)}`;
