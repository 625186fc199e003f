/**
 * The page at `/`: the graph of the group as this server knows it, as a picture and as a table. Drawn here from the status, without a script,
 * and fetched again every two seconds by the browser. Names come from other processes, so every text is escaped, and the policy lets the browser
 * load and run nothing.
 *
 *     ─────  a link that both servers list          ─ ─ ─  members of the view without a link between them
 *     ━━━━━  part of a route over other servers     ─ · ─  listed by one of the two, or a conflict
 */

import { Buffer } from 'node:buffer';
import type { HttpTextAnswer } from '../../../node/http/exchange.ts';
import { digest } from '../../../runtime/digest.ts';
import { edgesOf, namesOf, routeTo } from './graph-picture.ts';
import type { GroupMemberStatus } from '../status.ts';

const RADIUS = 210;
const MIDDLE = 300;
const NODE_RADIUS = 9;
const LABEL_GAP = 18;
const REFRESH_SECONDS = 2;

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #1c2733; background: #fff }
h1 { font-size: 1.3rem; margin: 0 } p { margin: .3rem 0 }
main { display: flex; flex-wrap: wrap; gap: 2rem; align-items: flex-start }
svg { width: min(100%, 30rem); height: auto } table { border-collapse: collapse }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; vertical-align: top } th { font-weight: 600 }
.problem { color: #9d1c1c; max-width: 24rem }
line.link { stroke: #8fa3b5; stroke-width: 1.5 } line.route { stroke: #1f6fd6; stroke-width: 4 }
line.down { stroke: #c62f2f; stroke-width: 1.5; stroke-dasharray: 6 6 }
line.one-way, line.conflict { stroke: #d98313; stroke-width: 2; stroke-dasharray: 10 4 2 4 }
line.conflict { stroke: #c62f2f; stroke-width: 4 }
circle { stroke: #1c2733; stroke-width: 1.5; fill: #fff } circle.member { fill: #3c9a5f } circle.left { stroke: #b5bec7; fill: #eceff2 }
circle.self { stroke-width: 4 } text { font-size: 14px; fill: #1c2733 }
@media (prefers-color-scheme: dark) {
  body { color: #dde5ec; background: #14191f } text { fill: #dde5ec } circle { stroke: #dde5ec; fill: #14191f } .problem { color: #ff8f8f }
}
`;

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${Buffer.from(digest(STYLE), 'hex').toString('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const pageAnswer = (status: GroupMemberStatus): HttpTextAnswer => ({
  kind: 'text',
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': POLICY },
  body: page(status),
});

const STATES: Readonly<Record<GroupMemberStatus['state'], string>> = {
  'in-view': 'in a view',
  changing: 'changing its view',
  'no-view': 'without a view',
  left: 'has left',
};

function page(status: GroupMemberStatus): string {
  const { name, instance, state, standing, view } = status;
  const members = view === undefined ? 'none' : view.members.join(', ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="${REFRESH_SECONDS}">
<title>${escaped(name)} · ${escaped(instance)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(name)} of group ${escaped(instance)}</h1>
<p id="state">${STATES[state]}, standing: <strong>${standing}</strong></p>
<p id="view">View ${escaped(view?.id ?? '')}: ${escaped(members)}</p>
${registryLine(status)}<main>
${picture(status)}
${table(status)}
</main>
<p>Green: in the view. Grey line: a link that works both ways. Blue: a route over other servers. Red, broken: members without a link. Orange: a link that one side lists.</p>
<p><a href="/v1/status">status</a> <a href="/v1/events/recent">recent events</a> <a href="/metrics">metrics</a> <a href="/openapi.json">OpenAPI</a></p>
</body>
</html>
`;
}

function registryLine({ registry }: GroupMemberStatus): string {
  if (registry === undefined) return '';
  const { registered, members, problem } = registry;
  const trouble = problem === undefined ? '' : `<p class="problem">${escaped(problem)}</p>\n`;
  return `<p id="etcd">Registered in etcd (${escaped(members.join(', '))}): ${escaped(registered.join(', '))}</p>\n${trouble}`;
}

function picture(status: GroupMemberStatus): string {
  const names = namesOf(status);
  const place = (name: string): { readonly x: number; readonly y: number; readonly angle: number } => {
    const angle = (2 * Math.PI * names.indexOf(name)) / names.length - Math.PI / 2;
    const radius = names.length === 1 ? 0 : RADIUS;
    return { x: MIDDLE + radius * Math.cos(angle), y: MIDDLE + radius * Math.sin(angle), angle };
  };
  const lines = edgesOf(status).map(({ one, other, kind }) => {
    const [from, to] = [place(one), place(other)];
    const ends = `x1="${from.x.toFixed(1)}" y1="${from.y.toFixed(1)}" x2="${to.x.toFixed(1)}" y2="${to.y.toFixed(1)}"`;
    return `<line class="${kind}" ${ends}><title>${escaped(`${one} – ${other}: ${kind}`)}</title></line>`;
  });
  const left = new Set(status.graph.filter(({ hasLeft }) => hasLeft).map(({ name }) => name));
  const nodes = names.map((name) => {
    const { x, y, angle } = place(name);
    const isMember = status.view?.members.includes(name) === true;
    const kinds = [
      isMember ? 'member' : left.has(name) ? 'left' : 'outside',
      name === status.name ? 'self' : '',
    ];
    const [labelX, labelY] = [x + LABEL_GAP * Math.cos(angle), y + LABEL_GAP * Math.sin(angle) + 5];
    const anchor = Math.abs(Math.cos(angle)) < 0.2 ? 'middle' : Math.cos(angle) > 0 ? 'start' : 'end';
    return `<circle class="${kinds.join(' ').trim()}" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${NODE_RADIUS}"><title>${escaped(name)}</title></circle><text x="${labelX.toFixed(1)}" y="${labelY.toFixed(1)}" text-anchor="${anchor}">${escaped(name)}</text>`;
  });
  const size = 2 * MIDDLE;
  return `<svg viewBox="0 0 ${size} ${size}" role="img" aria-label="The servers of the group and the links between them; the table has the same in words">${lines.join('')}${nodes.join('')}</svg>`;
}

function table(status: GroupMemberStatus): string {
  // A server that is reached over others only has no address here, and is no peer.
  const others = namesOf(status).filter((name) => name !== status.name);
  const rows = others.map((name) => {
    const route = routeTo(status, name);
    const reached = route.length === 0 ? 'not at all' : route.length === 2 ? 'direct' : route.join(' → ');
    const isMember = status.view?.members.includes(name) === true;
    const cells = [escaped(name), isMember ? 'yes' : 'no', escaped(reached)].map(
      (cell) => `<td>${cell}</td>`,
    );
    const problem = status.peers.find((peer) => peer.name === name)?.problem ?? '';
    return `<tr>${cells.join('')}<td class="problem">${escaped(problem)}</td></tr>`;
  });
  return `<table><thead><tr><th>Server</th><th>In the view</th><th>Reached</th><th></th></tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
