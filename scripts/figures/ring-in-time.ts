/**
 * The picture of the README: a pool in a simulated world, drawn as it ran. Time goes to the right, the ring of keys downwards; a colour is the
 * owner whose check passes at that instant, and no colour means that no owner's check does. Nothing is drawn by hand but the words.
 */

import { consistentHashing, resolveDurations } from '../../leasehold/src/pool/core/index.ts';
import { type OwnerNode, PoolWorld } from '../../leasehold/src/pool/simulation/index.ts';

const ROWS = 160;
const STEP_MS = 20;
const WIDTH = 1200;
const HEIGHT = 380;
const FRAME = { left: 20, right: 20, top: 84, bottom: 66 };
/** Told apart in both themes, and by readers who see fewer colours. */
const COLOURS = ['#3d7fc4', '#e0a03c', '#3f9a77', '#a35fb0'];

interface Event {
  readonly atMs: number;
  readonly words: readonly [string, string];
}

interface Run {
  /** For each row of the ring, who owned it when: a list of changes. */
  readonly rows: readonly (readonly { readonly atMs: number; readonly owner: number | undefined }[])[];
  readonly events: readonly Event[];
  readonly names: readonly string[];
  readonly endMs: number;
}

export function ringInTime(): string {
  return svgOf(play());
}

function play(): Run {
  const pool = new PoolWorld({
    ...{
      seed: 1,
      durations: resolveDurations(),
      policy: consistentHashing(),
      managers: 3,
      leaderKeyMs: 3_000,
    },
  });
  pool.start();
  const owners = ['ada', 'ben', 'cyd'].map((name) => pool.addOwner(name, { supervised: name === 'cyd' }));
  pool.until(
    'three servers own all keys',
    () => ownersOf(owners).every((owner) => owner !== undefined),
    60_000,
  );
  pool.run(3_000);

  const beganMs = pool.world.trueMs;
  const rows = ownersOf(owners).map((owner) => [{ atMs: 0, owner }]);
  const events: Event[] = [];
  const now = (): number => pool.world.trueMs - beganMs;
  const watch = (forMs: number): void => {
    for (const endMs = now() + forMs; now() < endMs; ) {
      pool.run(STEP_MS);
      for (const [row, owner] of ownersOf(owners).entries()) {
        const changes = rows[row] ?? [];
        if (changes.at(-1)?.owner !== owner) changes.push({ atMs: now(), owner });
      }
    }
  };
  const [, ben, cyd] = owners;
  if (ben === undefined || cyd === undefined) throw new Error('three were added');

  watch(3_000);
  events.push({ atMs: now(), words: ['cyd is killed.', 'Its supervisor proves it.'] });
  pool.crashOwner(cyd);
  watch(6_000);
  events.push({
    atMs: now(),
    words: ['The machine of ben dies.', 'Nothing proves it: a hold is waited for.'],
  });
  pool.crashOwner(ben);
  watch(15_000);
  events.push({ atMs: now(), words: ['dee joins,', 'and gets its share.'] });
  owners.push(pool.addOwner('dee'));
  watch(6_000);
  return { rows, events, names: owners.map(({ name }) => name), endMs: now() };
}

/** For each row the owner, by its place in the list. */
function ownersOf(owners: readonly OwnerNode[]): readonly (number | undefined)[] {
  return Array.from({ length: ROWS }, (_, row) => {
    const position = ((BigInt(row) * 2n + 1n) << 63n) / BigInt(ROWS);
    const found = owners.findIndex((owner) => owner.check(position) !== undefined);
    return found === -1 ? undefined : found;
  });
}

function svgOf({ rows, events, names, endMs }: Run): string {
  const xOf = (ms: number): number => FRAME.left + (ms / endMs) * (WIDTH - FRAME.left - FRAME.right);
  const rowHeight = (HEIGHT - FRAME.top - FRAME.bottom) / ROWS;
  const paths = names.map((_, owner) => {
    const runs = rows.flatMap((changes, row) =>
      changes.flatMap((change, index) => {
        if (change.owner !== owner) return [];
        const [from, to] = [xOf(change.atMs), xOf(changes[index + 1]?.atMs ?? endMs)];
        const y = FRAME.top + row * rowHeight;
        return [`M${round(from)} ${round(y)}h${round(to - from)}v${round(rowHeight)}h${round(from - to)}z`];
      }),
    );
    return `<path shape-rendering="crispEdges" fill="${COLOURS[owner]}" d="${runs.join('')}"/>`;
  });
  const bottom = HEIGHT - FRAME.bottom;
  const seconds = Array.from({ length: Math.floor(endMs / 5_000) + 1 }, (_, index) => index * 5_000);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="15">`,
    '<title>Three servers share a ring of keys; two die, and one joins</title>',
    '<style>text{fill:#1f2328}.faint{fill:#59636e}.bare{fill:#eceff2}.mark{stroke:#1f2328}',
    '@media(prefers-color-scheme:dark){text{fill:#e6edf3}.faint{fill:#9198a1}.bare{fill:#21262d}.mark{stroke:#e6edf3}}</style>',
    `<rect class="bare" x="${FRAME.left}" y="${FRAME.top}" width="${WIDTH - FRAME.left - FRAME.right}" height="${bottom - FRAME.top}"/>`,
    ...paths,
    ...events.flatMap(({ atMs, words: [first, second] }) => [
      `<line class="mark" x1="${round(xOf(atMs))}" y1="${FRAME.top - 40}" x2="${round(xOf(atMs))}" y2="${bottom}" stroke-width="1.5" stroke-dasharray="5 4"/>`,
      `<text x="${round(xOf(atMs) + 7)}" y="${FRAME.top - 30}" font-weight="600">${first}</text>`,
      `<text class="faint" x="${round(xOf(atMs) + 7)}" y="${FRAME.top - 11}">${second}</text>`,
    ]),
    ...seconds.map(
      (ms) =>
        `<text class="faint" x="${round(xOf(ms))}" y="${bottom + 20}" font-size="13" text-anchor="${ms === 0 ? 'start' : 'middle'}">${ms / 1_000} s</text>`,
    ),
    ...names.map(
      (name, owner) =>
        `<rect x="${FRAME.left + owner * 90}" y="${HEIGHT - 26}" width="14" height="14" fill="${COLOURS[owner]}"/>` +
        `<text x="${FRAME.left + owner * 90 + 21}" y="${HEIGHT - 14}">${name}</text>`,
    ),
    `<rect class="bare" x="${FRAME.left + names.length * 90}" y="${HEIGHT - 26}" width="14" height="14"/>`,
    `<text x="${FRAME.left + names.length * 90 + 21}" y="${HEIGHT - 14}">no owner</text>`,
    `<text class="faint" x="${WIDTH - FRAME.right}" y="${HEIGHT - 14}" text-anchor="end">the ring of keys, top to bottom; a simulated run with default settings</text>`,
    '</svg>',
    '',
  ].join('\n');
}

const round = (value: number): number => Math.round(value * 10) / 10;
