/**
 * What the page does, as the text that the browser runs. It reads the same API as everybody else: owners
 * every two seconds, everything when an event says that something has changed, events as they come.
 * Whatever came from outside is shown by `textContent` only.
 */

export const PAGE_CLIENT: string = `
'use strict';

const POLL_MS = 2000;
const MOST_ROWS = 20000;
const MOST_EVENTS = 100;
const LOST_SHOWN_MS = 4000;

const at = (id) => document.getElementById(id);
const page = {
  pool: decodeURIComponent(location.hash.slice(1)),
  rows: [],
  rowCount: 0,
  logPosition: 0,
  owners: new Map(),
  colours: new Map(),
  lost: new Map(),
  silentMs: Infinity,
  lit: undefined,
  key: undefined,
  mark: undefined,
};

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

async function ask(path) {
  const response = await fetch(path, { cache: 'no-store' });
  const body = await response.json();
  if (!response.ok) throw new Error(body.error ? body.error.message : 'the answer was ' + response.status);
  return body;
}

const ofPool = (rest) => '/v1/pools/' + encodeURIComponent(page.pool) + rest;

// ---- the connection ----------------------------------------------------------------------------

const SAYS = { live: 'live', trying: 'connecting', lost: 'disconnected, trying again' };

function connection(state) {
  const element = at('connection');
  if (element.dataset.state === state) return;
  element.dataset.state = state;
  element.textContent = SAYS[state];
}

let stream;

function listen(after) {
  if (stream) stream.close();
  stream = new EventSource('/v1/events?after=' + encodeURIComponent(after));
  stream.onopen = () => {
    connection('live');
    soon();
  };
  stream.onerror = () => {
    connection('lost');
    // The browser tries again by itself unless it was refused.
    if (stream.readyState === EventSource.CLOSED) setTimeout(start, 2000);
  };
  for (const kind of ['joined', 'left', 'granted', 'moved', 'lost', 'elected', 'deposed', 'halted', 'gap']) {
    stream.addEventListener(kind, (message) => {
      showEvent(JSON.parse(message.data));
      soon();
    });
  }
}

async function start() {
  try {
    const recent = await ask('/v1/events/recent?limit=50');
    at('events').replaceChildren();
    for (const event of recent.events) showEvent(event);
    if (recent.events.length === 0) at('events').append(make('li', 'none', 'nothing yet'));
    await refresh();
    listen(recent.latestEventId);
  } catch (error) {
    connection('lost');
    setTimeout(start, 2000);
  }
}

// ---- keeping up --------------------------------------------------------------------------------

let due;
let isBusy = false;
let isMore = false;

/** Events come in bursts; one look afterwards is enough. */
function soon() {
  clearTimeout(due);
  due = setTimeout(refreshOrSay, 150);
}

async function refreshOrSay() {
  if (isBusy) {
    isMore = true;
    return;
  }
  isBusy = true;
  try {
    await refresh();
    if (stream && stream.readyState === EventSource.OPEN) connection('live');
  } catch (error) {
    connection('lost');
  } finally {
    isBusy = false;
    if (isMore) {
      isMore = false;
      soon();
    }
  }
}

async function refresh() {
  const [status, { pools }] = await Promise.all([ask('/v1/status'), ask('/v1/pools')]);
  showManager(status);
  showPools(pools);
  const pool = pools.find(({ name }) => name === page.pool);
  if (pool === undefined) {
    page.rows = [];
    page.owners = new Map();
    showNothing();
    return;
  }
  const [{ owners }, { durations }] = await Promise.all([ask(ofPool('/owners?limit=1000')), ask(ofPool(''))]);
  page.silentMs = durations.renewEveryMs * 2.5;
  page.owners = new Map(owners.map((owner) => [owner.incarnation, owner]));
  if (pool.changedAt !== page.changedAt || page.shownPool !== page.pool) await readTable(pool);
  showOwners(owners);
  showMiddle(pool);
  draw();
  if (page.key !== undefined) await explain(page.key);
}

async function readTable(pool) {
  const rows = [];
  const isSamePool = page.shownPool === page.pool;
  let from = '';
  let table;
  do {
    table = await ask(ofPool('/table?limit=5000' + (from && '&from=' + from)));
    rows.push(...table.rows);
    from = table.next;
  } while (from !== null && rows.length < MOST_ROWS);
  const now = performance.now();
  for (const row of rows) {
    if (isSamePool && row.lostAt > page.logPosition) page.lost.set(row.start, now + LOST_SHOWN_MS);
  }
  page.rows = rows;
  page.rowCount = table.count;
  page.logPosition = table.logPosition;
  page.changedAt = pool.changedAt;
  page.shownPool = page.pool;
}

// ---- colours -----------------------------------------------------------------------------------

/** By name, so that a restart changes nothing; neighbours in the list lie far apart on the wheel. */
function hueOf(name) {
  if (!page.colours.has(name)) page.colours.set(name, (page.colours.size * 137.508 + 210) % 360);
  return page.colours.get(name);
}

const dark = matchMedia('(prefers-color-scheme: dark)');
const colourOf = (name) => 'hsl(' + hueOf(name).toFixed(0) + ' 62% ' + (dark.matches ? 62 : 48) + '%)';
const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// ---- showing -----------------------------------------------------------------------------------

function showManager(status) {
  at('manager').textContent = [
    'Manager ' + status.id,
    status.role,
    'term ' + status.term,
    'commit ' + status.logPosition,
    status.lookups + (status.lookups === 1 ? ' look-up' : ' look-ups'),
    'up ' + duration(status.uptimeSeconds),
  ].join(' · ');
  document.title = status.role === 'leading' ? 'Leasehold' : 'Leasehold (' + status.role + ')';
  const notice = at('notice');
  const why = status.haltedBecause || status.whyNotReady;
  notice.hidden = !why;
  notice.textContent = why ? (status.role === 'halted' ? 'Halted: ' : 'Not ready: ') + why : '';
}

function showPools(pools) {
  const select = at('pool');
  const names = pools.map(({ name }) => name);
  if (!names.includes(page.pool)) page.pool = names[0] || '';
  const shown = [...select.options].map(({ value }) => value);
  if (shown.length !== names.length || shown.some((name, index) => name !== names[index])) {
    select.replaceChildren(...names.map((name) => {
      const option = make('option', '', name);
      option.value = name;
      return option;
    }));
  }
  select.value = page.pool;
}

function showNothing() {
  at('owners').replaceChildren();
  middle('0', 'no pool yet', 'one appears when the first owner joins');
  draw();
}

function middle(number, ...lines) {
  at('middle').replaceChildren(make('strong', '', number), ...lines.map((line) => make('div', '', line)));
}

function showMiddle(pool) {
  const lines = [
    (pool.owners === 1 ? 'owner' : 'owners') + ', ' + page.rowCount + (page.rowCount === 1 ? ' range' : ' ranges'),
    pool.lookups + (pool.lookups === 1 ? ' look-up' : ' look-ups'),
  ];
  if (pool.unownedPercent > 0) lines.push(pool.unownedPercent + ' % unowned');
  else if (pool.misplacedPercent > 0) lines.push(pool.misplacedPercent + ' % to be moved');
  if (page.rows.length < page.rowCount) lines.push('drawn: the first ' + page.rows.length);
  middle(String(pool.owners), ...lines);
}

const known = new Map();

function showOwners(owners) {
  const body = at('owners');
  const largest = Math.max(1, ...owners.map(({ sharePercent }) => sharePercent));
  const rows = owners.map((owner) => {
    const row = known.get(owner.incarnation) || newRow(owner);
    known.set(owner.incarnation, row);
    fillRow(row, owner, largest);
    return row.element;
  });
  for (const incarnation of known.keys()) if (!page.owners.has(incarnation)) known.delete(incarnation);
  // Only when somebody came or went: moving rows under a pointer is unkind.
  const isSame = rows.length === body.children.length && rows.every((row, index) => row === body.children[index]);
  if (!isSame) body.replaceChildren(...rows);
  at('no-owners').hidden = owners.length > 0;
}

function newRow({ incarnation, name, url }) {
  const element = make('tr');
  const cell = (className) => element.appendChild(make('td', className));
  const first = cell('');
  first.append(make('div', 'name', name), make('div', 'url', url));
  const state = first.appendChild(make('div', 'state'));
  const second = cell('');
  const share = second.appendChild(make('div', 'share'));
  const fill = second.appendChild(make('div', 'bar')).appendChild(make('div'));
  const row = { element, state, share, fill, ranges: cell('count'), heard: cell('count'), load: cell('count load') };
  element.title = 'incarnation ' + incarnation;
  element.addEventListener('pointerenter', () => light(incarnation));
  element.addEventListener('pointerleave', () => light(undefined));
  return row;
}

/** Bars compare owners with each other, so the longest is the largest share there is. */
function fillRow(row, owner, largest) {
  row.element.style.setProperty('--swatch', colourOf(owner.name));
  row.share.textContent = owner.sharePercent.toFixed(1) + ' %';
  row.fill.style.width = (100 * owner.sharePercent) / largest + '%';
  row.ranges.textContent = owner.ranges;
  row.heard.textContent = owner.heardAgoMs === null ? '–' : (owner.heardAgoMs / 1000).toFixed(1) + ' s ago';
  row.load.textContent = owner.load === null ? '–' : Math.round(owner.load * 100) / 100;
  const silent = owner.heardAgoMs !== null && owner.heardAgoMs > page.silentMs;
  row.state.className = silent ? 'state bad' : 'state';
  row.state.textContent = silent && owner.keptForMs !== null
    ? 'silent; its keys are kept for ' + (owner.keptForMs / 1000).toFixed(1) + ' s more'
    : !owner.isMember ? 'wants to join'
    : owner.isLeaving ? 'is leaving'
    : owner.recalledRanges > 0 ? 'gives back ' + owner.recalledPercent + ' %' : '';
}

function light(incarnation) {
  page.lit = incarnation;
  draw();
}

const WHY = {
  left: 'it said good-bye', expired: 'it was not heard for too long', certified: 'its death was proved',
  recovered: 'the log was restored', unknown: 'it is not known why',
};

function describe(event) {
  const extent = () => event.sharePercent + ' % of the ring in ' + event.spans + (event.spans === 1 ? ' range' : ' ranges');
  const by = () => (event.owner ? event.owner.name : 'somebody');
  switch (event.kind) {
    case 'joined': return event.owner.name + ' at ' + event.owner.url;
    case 'left': return event.owner.name + ': ' + (WHY[event.why] || event.why);
    case 'granted': return by() + ' was given ' + extent();
    case 'moved': return event.from.name + ' handed ' + extent() + ' to ' + by();
    case 'lost': return by() + ' had ' + extent();
    case 'elected': return event.manager + ' leads in term ' + event.term;
    case 'deposed': return event.manager + ' no longer leads in term ' + event.term;
    case 'halted': return event.manager + ': ' + event.why;
    default: return 'some events were missed';
  }
}

function showEvent(event) {
  const list = at('events');
  const nothing = list.querySelector('.none');
  if (nothing) nothing.remove();
  const line = make('li');
  line.dataset.kind = event.kind;
  const time = make('time', '', event.atMs ? new Date(event.atMs).toLocaleTimeString([], { hour12: false }) : '');
  line.append(time, make('b', '', event.kind), make('span', '', (event.pool ? event.pool + ': ' : '') + describe(event)));
  list.prepend(line);
  while (list.children.length > MOST_EVENTS) list.lastElementChild.remove();
}

function duration(seconds) {
  if (seconds < 90) return seconds + ' s';
  if (seconds < 5400) return Math.round(seconds / 60) + ' min';
  if (seconds < 129600) return Math.round(seconds / 3600) + ' h';
  return Math.round(seconds / 86400) + ' days';
}

// ---- the ring ----------------------------------------------------------------------------------

const turnOf = (hex) => parseInt(hex.slice(0, 8), 16) / 0x100000000;
const angleOf = (turn) => (turn - 0.25) * 2 * Math.PI;

function draw() {
  const canvas = at('ring');
  const size = canvas.clientWidth;
  if (size === 0) return;
  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(size * scale)) canvas.width = canvas.height = Math.round(size * scale);
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, size, size);
  const [middle, outer, inner] = [size / 2, size / 2 - 16, size / 2 - 16 - size * 0.11];
  const arc = (from, to, colour, radius, width) => {
    pen.beginPath();
    pen.arc(middle, middle, radius, angleOf(from), angleOf(to));
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.stroke();
  };
  const width = outer - inner;
  const radius = (outer + inner) / 2;
  arc(0, 1, variable('--empty'), radius, page.rows.length === 0 ? 2 : width);
  const now = performance.now();
  let isFading = false;
  for (const row of page.rows) {
    const from = turnOf(row.start);
    const to = turnOf(row.end) || 1;
    pen.globalAlpha = page.lit === undefined || page.lit === row.owner ? 1 : 0.18;
    if (row.owner !== null) arc(from, to, colourOf(row.ownerName || row.owner), radius, width);
    pen.globalAlpha = 1;
    const until = page.lost.get(row.start);
    if (until > now) {
      arc(from, to, variable('--bad'), outer + 5, 4);
      isFading = true;
    } else if (until !== undefined) page.lost.delete(row.start);
  }
  if (page.rows.length < 500) borders(pen, middle, inner, outer);
  if (page.mark !== undefined) mark(pen, middle, inner, outer, angleOf(turnOf(page.mark)));
  if (isFading) setTimeout(() => requestAnimationFrame(draw), 500);
}

function borders(pen, middle, inner, outer) {
  pen.beginPath();
  for (const { start } of page.rows) {
    const angle = angleOf(turnOf(start));
    pen.moveTo(middle + inner * Math.cos(angle), middle + inner * Math.sin(angle));
    pen.lineTo(middle + outer * Math.cos(angle), middle + outer * Math.sin(angle));
  }
  pen.strokeStyle = variable('--card');
  pen.lineWidth = 0.7;
  pen.stroke();
}

/** A pin through the ring at the key. */
function mark(pen, middle, inner, outer, angle) {
  const [x, y] = [Math.cos(angle), Math.sin(angle)];
  pen.beginPath();
  pen.moveTo(middle + (inner - 8) * x, middle + (inner - 8) * y);
  pen.lineTo(middle + (outer + 8) * x, middle + (outer + 8) * y);
  pen.strokeStyle = variable('--ink');
  pen.lineWidth = 2.5;
  pen.stroke();
  pen.beginPath();
  pen.arc(middle + (outer + 9) * x, middle + (outer + 9) * y, 5, 0, 2 * Math.PI);
  pen.fillStyle = variable('--ink');
  pen.fill();
}

// ---- one key -----------------------------------------------------------------------------------

async function explain(key) {
  const answer = at('answer');
  try {
    const found = await ask(ofPool('/explain?key=' + encodeURIComponent(key)));
    if (key !== page.key) return;
    page.mark = found.ringPosition;
    const first = found.owner
      ? found.owner.name + ' owns it, number ' + found.number
      : 'nobody owns it at the moment';
    answer.replaceChildren(make('p', '', first), ...found.sentences.map((sentence) => make('p', '', sentence)));
    draw();
  } catch (error) {
    answer.replaceChildren(make('p', '', String(error.message || error)));
  }
}

at('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  page.key = at('key').value;
  explain(page.key);
});

at('pool').addEventListener('change', () => {
  page.pool = at('pool').value;
  history.replaceState(null, '', '#' + encodeURIComponent(page.pool));
  page.lost.clear();
  refreshOrSay();
});

new ResizeObserver(draw).observe(at('ring'));
dark.addEventListener('change', () => refreshOrSay());
document.addEventListener('visibilitychange', () => { if (!document.hidden) soon(); });
setInterval(() => { if (!document.hidden) refreshOrSay(); }, POLL_MS);
connection('trying');
start();
`;
