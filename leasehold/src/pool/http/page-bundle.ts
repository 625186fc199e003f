/** The script of the page. Made of `apps/page` by `npm run page`: change it there. */

export const PAGE_BUNDLE: string = `"use strict";
(() => {
  // apps/page/src/colours.ts
  var GOLDEN_ANGLE = 137.508;
  var FIRST_HUE = 210;
  var hues = /* @__PURE__ */ new Map();
  var darkness = matchMedia("(prefers-color-scheme: dark)");
  var colourOf = (name) => \`hsl(\${hueOf(name).toFixed(0)} 62% \${darkness.matches ? 62 : 48}%)\`;
  function hueOf(name) {
    const hue = hues.get(name) ?? (hues.size * GOLDEN_ANGLE + FIRST_HUE) % 360;
    hues.set(name, hue);
    return hue;
  }
  var styleColour = (variable) => getComputedStyle(document.documentElement).getPropertyValue(variable).trim();

  // leasehold/src/runtime/printable.ts
  var CONTROLS = /(?![\\u200c\\u200d])[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}]/u;
  var EACH = new RegExp(CONTROLS, "gu");
  var SHORT = { "\\n": "\\\\n", "\\r": "\\\\r", "	": "\\\\t" };
  var printable = (text) => text.replace(EACH, escaped);
  function escaped(character) {
    const code = character.codePointAt(0) ?? 0;
    const digits = code.toString(16);
    if (code > 65535) return \`\\\\u{\${digits}}\`;
    return SHORT[character] ?? (code > 255 ? \`\\\\u\${digits.padStart(4, "0")}\` : \`\\\\x\${digits.padStart(2, "0")}\`);
  }

  // apps/page/src/elements.ts
  function element(id, kind) {
    const found = document.getElementById(id);
    if (!(found instanceof kind)) throw new Error(\`the page has no \${kind.name} called \${id}\`);
    return found;
  }
  function make(tag, className = "", text = "") {
    const made = document.createElement(tag);
    if (className !== "") made.className = className;
    if (text !== "") made.textContent = printable(text);
    return made;
  }

  // apps/page/src/model.ts
  var model = {
    pool: decodeURIComponent(location.hash.slice(1)),
    table: void 0,
    owners: /* @__PURE__ */ new Map(),
    silentAfterMs: Number.POSITIVE_INFINITY,
    readAt: void 0,
    clockAheadMs: 0,
    lostUntil: /* @__PURE__ */ new Map(),
    litOwner: void 0,
    key: void 0,
    keyPosition: void 0
  };
  var ageMs = () => model.readAt === void 0 ? 0 : performance.now() - model.readAt.clockMs;

  // apps/page/src/words.ts
  var counted = (count, what) => \`\${count} \${what}\${count === 1 ? "" : "s"}\`;
  var clockTime = (wallMs) => new Date(wallMs).toLocaleTimeString([], { hour12: false });
  var seconds = (ms) => \`\${(ms / 1e3).toFixed(1)} s\`;
  var MINUTE = 60;
  var HOUR = 60 * MINUTE;
  var DAY = 24 * HOUR;
  function uptime(upSeconds) {
    if (upSeconds < 1.5 * MINUTE) return \`\${upSeconds} s\`;
    if (upSeconds < 1.5 * HOUR) return \`\${Math.round(upSeconds / MINUTE)} min\`;
    if (upSeconds < 1.5 * DAY) return \`\${Math.round(upSeconds / HOUR)} h\`;
    return \`\${Math.round(upSeconds / DAY)} days\`;
  }
  function eventText(event) {
    switch (event.kind) {
      case "joined":
        return \`\${event.owner.name} at \${event.owner.url}\`;
      case "left":
        return \`\${event.owner.name} \${whyLeft(event.why)}\`;
      case "removed":
        return "the pool was removed";
      case "granted":
        return \`\${event.owner.name} was given \${extent(event)}\`;
      case "moved":
        return \`\${event.from.name} handed \${extent(event)} to \${event.owner.name}\`;
      case "lost":
        return event.isPlanned ? \`\${event.owner?.name} gave back \${extent(event)}\` : \`\${event.owner?.name ?? "nobody"} had \${extent(event)}\`;
      case "elected":
        return \`\${event.manager} leads in term \${event.term}\`;
      case "deposed":
        return \`\${event.manager} no longer leads in term \${event.term}\`;
      case "follows":
        return \`\${event.leader} leads in term \${event.term}, as far as \${event.manager} knows\`;
      case "halted":
        return \`\${event.manager}: \${event.why}\`;
      case "gap":
        return "some events were missed";
    }
  }
  var extent = ({ sharePercent, spans }) => \`\${sharePercent} % of the ring in \${counted(spans, "range")}\`;
  function whyLeft(why) {
    switch (why) {
      case "left":
        return "left in good order";
      case "expired":
        return "was silent until its hold was over";
      case "certified":
        return "died: its death was proved, by its supervisor or its lock";
      case "recovered":
        return "was dropped: the log was restored";
      case "unknown":
        return "is gone; how is not known";
    }
  }

  // apps/page/src/connection.ts
  var STALE_AFTER_MS = 7e3;
  var SHOWN = {
    connecting: { data: "trying", text: "connecting" },
    live: { data: "live", text: "live" },
    "without events": { data: "trying", text: "no events arrive; connecting again" }
  };
  var stream = "not tried";
  var isAnswered = true;
  function streamIs(state) {
    stream = state;
    showConnection();
  }
  function answersCome(doThey) {
    isAnswered = doThey;
    if (doThey) model.readAt = { clockMs: performance.now(), wallMs: Date.now() };
    showConnection();
  }
  function showConnection() {
    const state = stateNow();
    const { data, text } = state === "lost" ? { data: "lost", text: lostText() } : SHOWN[state];
    document.body.toggleAttribute("data-stale", state === "lost" && model.readAt !== void 0);
    if (state === "lost") document.title = "Leasehold (disconnected)";
    const shown = element("connection", HTMLElement);
    if (shown.dataset["state"] === data && shown.textContent === text) return;
    shown.dataset["state"] = data;
    shown.textContent = text;
  }
  function stateNow() {
    const { readAt } = model;
    const isStale = readAt !== void 0 && performance.now() - readAt.clockMs > STALE_AFTER_MS;
    if (!isAnswered || isStale) return "lost";
    if (stream === "broken") return "without events";
    return stream === "open" ? "live" : "connecting";
  }
  var lostText = () => model.readAt === void 0 ? "no answer, trying again" : \`disconnected; data from \${clockTime(model.readAt.wallMs)}\`;

  // apps/page/src/api.ts
  var ANSWER_WITHIN_MS = 5e3;
  async function ask(path) {
    const response = await fetch(path, { cache: "no-store", signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    const body = await response.json();
    if (!response.ok) throw new Error(body.error?.message ?? \`the answer was \${response.status}\`);
    return body;
  }
  var poolPath = (pool, rest = "") => \`/v1/pools/\${encodeURIComponent(pool)}\${rest}\`;

  // apps/page/src/ring.ts
  var MOST_BORDERS = 500;
  var MARGIN = 16;
  var THICKNESS = 0.11;
  var REDRAW_WHILE_MARKED_MS = 500;
  function drawRing() {
    const canvas = element("ring", HTMLCanvasElement);
    const pen = canvas.getContext("2d");
    const size = canvas.clientWidth;
    if (size === 0 || pen === null) return;
    const scale = devicePixelRatio || 1;
    const pixels = Math.round(size * scale);
    if (canvas.width !== pixels) canvas.width = canvas.height = pixels;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, size, size);
    const outer = size / 2 - MARGIN;
    const ring = { pen, middle: size / 2, outer, inner: outer - size * THICKNESS };
    const rows = model.table?.rows ?? [];
    drawEmpty(ring, rows.length > 0);
    for (const row of rows) drawOwned(ring, row);
    const isSomethingMarked = drawLost(ring, rows);
    if (rows.length < MOST_BORDERS) drawBorders(ring, rows);
    if (model.keyPosition !== void 0) drawPin(ring, angleOf(turnOf(model.keyPosition)));
    if (isSomethingMarked) setTimeout(() => requestAnimationFrame(drawRing), REDRAW_WHILE_MARKED_MS);
  }
  function showMiddle(pool) {
    if (pool === void 0) {
      middleText("0", "no pool yet", "one appears when the first owner joins");
      return;
    }
    const { rows = [], rowCount = 0 } = model.table ?? {};
    const lines = [
      \`\${pool.owners === 1 ? "owner" : "owners"}, \${counted(rowCount, "range")}\`,
      counted(pool.lookups, "look-up")
    ];
    if (pool.unownedPercent > 0) lines.push(\`\${pool.unownedPercent} % unowned\`);
    else if ((pool.misplacedPercent ?? 0) > 0) lines.push(\`\${pool.misplacedPercent} % to be moved\`);
    if (rows.length < rowCount) lines.push(\`drawn: the first \${rows.length}\`);
    middleText(String(pool.owners), ...lines);
  }
  function middleText(number, ...lines) {
    const shown = [make("strong", "", number), ...lines.map((line) => make("div", "", line))];
    element("middle", HTMLElement).replaceChildren(...shown);
  }
  var turnOf = (position) => Number.parseInt(position.slice(0, 8), 16) / 2 ** 32;
  var angleOf = (turn) => (turn - 0.25) * 2 * Math.PI;
  function drawEmpty({ pen, middle, outer, inner }, isThick) {
    pen.beginPath();
    pen.arc(middle, middle, (outer + inner) / 2, 0, 2 * Math.PI);
    stroke(pen, styleColour("--empty"), isThick ? outer - inner : 2);
  }
  function drawOwned(ring, row) {
    if (row.owner === null) return;
    const { pen, outer, inner } = ring;
    pen.globalAlpha = model.litOwner === void 0 || model.litOwner === row.owner ? 1 : 0.18;
    traceRow(ring, row, (outer + inner) / 2);
    stroke(pen, colourOf(row.ownerName ?? row.owner), outer - inner);
    pen.globalAlpha = 1;
  }
  function drawLost(ring, rows) {
    const now = performance.now();
    for (const [position, until] of model.lostUntil) if (until <= now) model.lostUntil.delete(position);
    for (const row of rows.filter(({ lostAt }) => model.lostUntil.has(lostAt))) {
      traceRow(ring, row, ring.outer + 5);
      stroke(ring.pen, styleColour("--bad"), 4);
    }
    return model.lostUntil.size > 0;
  }
  function drawBorders({ pen, middle, outer, inner }, rows) {
    pen.beginPath();
    for (const { start } of rows) {
      const [x, y] = direction(angleOf(turnOf(start)));
      pen.moveTo(middle + inner * x, middle + inner * y);
      pen.lineTo(middle + outer * x, middle + outer * y);
    }
    stroke(pen, styleColour("--card"), 0.7);
  }
  function drawPin({ pen, middle, outer, inner }, angle) {
    const [x, y] = direction(angle);
    pen.beginPath();
    pen.moveTo(middle + (inner - 8) * x, middle + (inner - 8) * y);
    pen.lineTo(middle + (outer + 8) * x, middle + (outer + 8) * y);
    stroke(pen, styleColour("--ink"), 2.5);
    pen.beginPath();
    pen.arc(middle + (outer + 9) * x, middle + (outer + 9) * y, 5, 0, 2 * Math.PI);
    pen.fillStyle = styleColour("--ink");
    pen.fill();
  }
  function traceRow({ pen, middle }, { start, end }, radius) {
    pen.beginPath();
    pen.arc(middle, middle, radius, angleOf(turnOf(start)), angleOf(turnOf(end) || 1));
  }
  var direction = (angle) => [Math.cos(angle), Math.sin(angle)];
  function stroke(pen, colour, width) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.stroke();
  }

  // apps/page/src/key.ts
  async function explainKey() {
    const { key, pool } = model;
    if (key === void 0) return;
    try {
      const found = await ask(poolPath(pool, \`/explain?key=\${encodeURIComponent(key)}\`));
      if (key !== model.key || pool !== model.pool) return;
      model.keyPosition = found.ringPosition;
      answer([ownerWords(found), ...found.sentences]);
      drawRing();
    } catch (error) {
      answer([error instanceof Error ? error.message : String(error)]);
    }
  }
  function ownerWords({ owner, number, waitsMs }) {
    if (waitsMs !== null) return "not known yet";
    return owner === null ? "no owner at the moment" : \`\${owner.name} owns it, number \${number}\`;
  }
  var answer = (sentences) => element("answer", HTMLElement).replaceChildren(...sentences.map((sentence) => make("p", "", sentence)));

  // apps/page/src/owners.ts
  var known = /* @__PURE__ */ new Map();
  function showOwners(owners) {
    const body = element("owners", HTMLElement);
    const rows = owners.map((owner) => {
      const shown = known.get(owner.incarnation) ?? newRow(owner);
      known.set(owner.incarnation, shown);
      fill(shown, owner);
      return shown.row;
    });
    for (const incarnation of known.keys()) if (!model.owners.has(incarnation)) known.delete(incarnation);
    const isSame = rows.length === body.children.length && rows.every((row, index) => row === body.children[index]);
    if (!isSame) body.replaceChildren(...rows);
    element("no-owners", HTMLElement).hidden = owners.length > 0;
  }
  function newRow({ incarnation, name, url }) {
    const row = make("tr");
    const cell = (className) => row.appendChild(make("td", className));
    const first = cell("");
    first.append(make("div", "name", name), make("div", "url", url));
    const state = first.appendChild(make("div", "state"));
    const second = cell("");
    const share = second.appendChild(make("div", "share"));
    const scale = second.appendChild(make("div", "bar"));
    const bar = scale.appendChild(make("div"));
    const wanted = scale.appendChild(make("i"));
    row.title = \`incarnation \${incarnation}\`;
    row.addEventListener("pointerenter", () => light(incarnation));
    row.addEventListener("pointerleave", () => light(void 0));
    return {
      row,
      state,
      share,
      bar,
      wanted,
      ranges: cell("count"),
      heard: cell("count"),
      load: cell("count load")
    };
  }
  function showAges() {
    for (const [incarnation, owner] of model.owners) {
      const shown = known.get(incarnation);
      if (shown !== void 0) fillAges(shown, owner);
    }
  }
  function fill(shown, owner) {
    shown.row.style.setProperty("--swatch", colourOf(owner.name));
    shown.share.textContent = \`\${owner.sharePercent.toFixed(1)} %\`;
    shown.bar.style.width = \`\${owner.sharePercent}%\`;
    shown.wanted.hidden = owner.wantedPercent === null;
    shown.wanted.style.left = \`\${owner.wantedPercent ?? 0}%\`;
    shown.wanted.title = \`wanted: \${owner.wantedPercent ?? 0} %\`;
    shown.ranges.textContent = String(owner.ranges);
    shown.load.textContent = owner.load === null ? "–" : String(Math.round(owner.load * 100) / 100);
    fillAges(shown, owner);
  }
  function fillAges(shown, owner) {
    const age = ageMs();
    shown.heard.textContent = owner.heardAgoMs === null ? "–" : \`\${seconds(owner.heardAgoMs + age)} ago\`;
    const isSilent = owner.heardAgoMs !== null && owner.heardAgoMs > model.silentAfterMs;
    shown.state.className = isSilent ? "state bad" : "state";
    shown.state.textContent = stateText(owner, isSilent, age);
  }
  function stateText(owner, isSilent, age) {
    if (isSilent && owner.keptForMs !== null) {
      return \`silent; its keys are kept for \${seconds(Math.max(0, owner.keptForMs - age))} more\`;
    }
    if (!owner.isMember) return "wants to join";
    if (owner.isLeaving) return "is leaving";
    return owner.recalledRanges > 0 ? \`gives back \${owner.recalledPercent} %\` : "";
  }
  function light(incarnation) {
    model.litOwner = incarnation;
    drawRing();
  }

  // apps/page/src/header.ts
  function showManager(status) {
    element("manager", HTMLElement).textContent = [
      \`Manager \${printable(status.id)}\`,
      status.role,
      ...status.term === null ? [] : [\`term \${status.term}\`],
      ...status.logPosition === null ? [] : [\`commit \${status.logPosition}\`],
      counted(status.lookups, "look-up"),
      \`up \${uptime(status.uptimeSeconds)}\`
    ].join(" · ");
    showLeader(status);
    document.title = status.role === "leading" ? "Leasehold" : \`Leasehold (\${status.role})\`;
    const notice = element("notice", HTMLElement);
    const text = printable(noticeOf(status));
    notice.hidden = text === "";
    notice.textContent = text;
  }
  function noticeOf({ role, haltedBecause, whyNotReady, waitsMs }) {
    const why = haltedBecause ?? whyNotReady;
    if (why !== null) return \`\${role === "halted" ? "Halted" : "Not ready"}: \${why}\`;
    if (waitsMs === null) return "";
    return \`Owners are not known yet: this Manager waits \${seconds(waitsMs)} more for leases of an earlier leader to expire\`;
  }
  function showLeader({ id, role, leader, managers }) {
    const shown = element("leader", HTMLElement);
    shown.hidden = role !== "standby";
    const isKnown = leader !== null && leader.id !== id;
    const where = isKnown && leader.address !== null ? \`, at \${leader.address}\` : "";
    const text = isKnown ? printable(\`\${leader.id} leads\${where}\`) : "no Manager leads, as far as this one knows";
    const place = isKnown ? managers.find(({ isLeader }) => isLeader)?.http ?? "" : "";
    if (shown.textContent === text && shown.dataset["place"] === place) return;
    shown.dataset["place"] = place;
    const link = make("a", "", text);
    link.href = place;
    if (/^https?:$/.test(link.protocol) && place !== "") shown.replaceChildren(link);
    else shown.textContent = text;
  }
  function showPools(pools) {
    const select = element("pool", HTMLSelectElement);
    const names = pools.map(({ name }) => name);
    if (!names.includes(model.pool)) model.pool = names[0] ?? "";
    const shown = [...select.options].map(({ value }) => value);
    if (shown.length !== names.length || shown.some((name, index) => name !== names[index])) {
      select.replaceChildren(...names.map(option));
    }
    select.value = model.pool;
  }
  function option(name) {
    const made = make("option", "", name);
    made.value = name;
    return made;
  }

  // apps/page/src/gone.ts
  var SHOWN_FOR_MS = 5 * 6e4;
  var gone = /* @__PURE__ */ new Map();
  function rememberGone(event) {
    if (event.kind === "left") gone.set(event.owner.incarnation, event);
  }
  function showGone() {
    const managerMs = Date.now() + model.clockAheadMs;
    for (const [incarnation, { atMs }] of gone) if (managerMs - atMs > SHOWN_FOR_MS) gone.delete(incarnation);
    const shown = [...gone.values()].filter(({ pool }) => pool === model.pool).reverse();
    element("gone", HTMLElement).replaceChildren(...shown.map(goneRow));
  }
  function goneRow({ owner, atMs, why }) {
    const row = make("tr");
    row.dataset["why"] = why;
    row.title = \`incarnation \${owner.incarnation}\`;
    const cell = row.appendChild(make("td"));
    cell.colSpan = 5;
    cell.append(
      make("div", "name", owner.name),
      make("div", "url", owner.url),
      make("div", why === "left" ? "state" : "state bad", \`\${clockTime(atMs)}: \${whyLeft(why)}\`)
    );
    return row;
  }

  // apps/page/src/refresh.ts
  var SOON_MS = 150;
  var MOST_ROWS = 2e4;
  var ROWS_AT_ONCE = 5e3;
  var RENEWALS_MISSED = 2.5;
  var due;
  var isReading = false;
  var isMoreWanted = false;
  function refreshSoon() {
    clearTimeout(due);
    due = setTimeout(() => void refreshOrSay(), SOON_MS);
  }
  async function refreshOrSay() {
    if (isReading) {
      isMoreWanted = true;
      return;
    }
    isReading = true;
    try {
      await refresh();
      answersCome(true);
    } catch {
      answersCome(false);
    } finally {
      isReading = false;
      if (isMoreWanted) refreshSoon();
      isMoreWanted = false;
    }
  }
  async function refresh() {
    const status = await ask("/v1/status");
    const pools = await readPools(status);
    model.clockAheadMs = status.startedAtMs + 1e3 * status.uptimeSeconds - Date.now();
    showManager(status);
    showPools(pools);
    const pool = pools.find(({ name }) => name === model.pool);
    if (pool === void 0) {
      [model.table, model.owners] = [void 0, /* @__PURE__ */ new Map()];
      showOwners([]);
    } else await readPool(pool);
    showGone();
    showMiddle(pool);
    drawRing();
    await explainKey();
  }
  async function readPools(status) {
    if (status.pools === null) return [];
    return (await ask("/v1/pools")).pools;
  }
  async function readPool(pool) {
    const [{ owners }, { durations }] = await Promise.all([
      ask(poolPath(pool.name, "/owners?limit=1000")),
      ask(poolPath(pool.name))
    ]);
    model.silentAfterMs = RENEWALS_MISSED * durations.renewEveryMs;
    model.owners = new Map(owners.map((owner) => [owner.incarnation, owner]));
    if (pool.changedAt !== model.table?.changedAt || pool.name !== model.table.pool) await readTable(pool);
    showOwners(owners);
  }
  async function readTable({ name, changedAt }) {
    const rows = [];
    let next = "";
    let page;
    do {
      const from = next === "" ? "" : \`&from=\${next}\`;
      page = await ask(poolPath(name, \`/table?limit=\${ROWS_AT_ONCE}\${from}\`));
      rows.push(...page.rows);
      next = page.next;
    } while (next !== null && rows.length < MOST_ROWS);
    model.table = { pool: name, changedAt, logPosition: page.logPosition, rows, rowCount: page.count };
  }

  // apps/page/src/events.ts
  var MOST_EVENTS = 100;
  function showEvents(events) {
    const list = element("events", HTMLElement);
    list.replaceChildren();
    for (const event of events) showEvent(event);
    if (events.length === 0) list.append(make("li", "none", "nothing yet"));
  }
  function showEvent(event) {
    const list = element("events", HTMLElement);
    list.querySelector(".none")?.remove();
    const pool = "pool" in event ? \`\${event.pool}: \` : "";
    const line = make("li");
    const kind = event.kind === "lost" && event.isPlanned ? "given back" : event.kind;
    line.dataset["kind"] = kind;
    line.append(
      make("time", "", event.atMs === 0 ? "" : clockTime(event.atMs)),
      make("b", "", kind),
      make("span", "", pool + eventText(event))
    );
    list.prepend(line);
    while (list.children.length > MOST_EVENTS) list.lastElementChild?.remove();
  }

  // apps/page/src/stream.ts
  var AGAIN_AFTER_MS = 2e3;
  var RECENT = 200;
  var LOST_SHOWN_MS = 4e3;
  var KINDS = [
    ...["joined", "left", "granted", "moved", "lost", "removed"],
    ...["elected", "deposed", "follows", "halted", "gap"]
  ];
  var stream2;
  async function follow() {
    try {
      const recent = await ask(
        \`/v1/events/recent?limit=\${RECENT}\`
      );
      showEvents(recent.events);
      for (const event of recent.events) rememberGone(event);
      await refresh();
      answersCome(true);
      listen(recent.latestEventId);
    } catch {
      answersCome(false);
      setTimeout(() => void follow(), AGAIN_AFTER_MS);
    }
  }
  function listen(after) {
    stream2?.close();
    const opened = new EventSource(\`/v1/events?after=\${encodeURIComponent(after)}\`);
    stream2 = opened;
    opened.onopen = () => {
      streamIs("open");
      refreshSoon();
    };
    opened.onerror = () => {
      streamIs("broken");
      refreshSoon();
      if (opened.readyState === EventSource.CLOSED) setTimeout(() => void follow(), AGAIN_AFTER_MS);
    };
    for (const kind of KINDS) {
      opened.addEventListener(kind, (message) => {
        const event = JSON.parse(message.data);
        showEvent(event);
        rememberGone(event);
        if (event.kind === "lost" && event.pool === model.pool && !event.isPlanned)
          model.lostUntil.set(event.logPosition, performance.now() + LOST_SHOWN_MS);
        refreshSoon();
      });
    }
  }

  // apps/page/src/main.ts
  var LOOK_EVERY_MS = 2e3;
  var TICK_MS = 500;
  element("ask", HTMLFormElement).addEventListener("submit", (event) => {
    event.preventDefault();
    model.key = element("key", HTMLInputElement).value;
    void explainKey();
  });
  element("pool", HTMLSelectElement).addEventListener("change", () => {
    model.pool = element("pool", HTMLSelectElement).value;
    model.lostUntil.clear();
    history.replaceState(null, "", \`#\${encodeURIComponent(model.pool)}\`);
    void refreshOrSay();
  });
  new ResizeObserver(drawRing).observe(element("ring", HTMLCanvasElement));
  darkness.addEventListener("change", () => void refreshOrSay());
  document.addEventListener("visibilitychange", () => {
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
})();
`;
