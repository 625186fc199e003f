/** A figure as a small picture. */

import type { Figure, Series } from './figure.ts';

const [WIDTH, HEIGHT] = [640, 300];
const FRAME = { left: 52, right: 24, top: 34, bottom: 34 };
const COLOURS = ['#0b66c3', '#d1495b', '#2e8b57', '#8a6d3b'];
const POINTS_MAX = 160;

export function svgOf({ title, unit, series, marks, most }: Figure): string {
  const all = series.flatMap(({ points }) => points);
  const lastX = Math.max(...all.map(([x]) => x));
  const highest = Math.min(most ?? Number.POSITIVE_INFINITY, Math.max(...all.map(([, y]) => y)));
  const top = niceAbove(highest);
  const xOf = (x: number): number => FRAME.left + (x / lastX) * (WIDTH - FRAME.left - FRAME.right);
  const yOf = (y: number): number =>
    HEIGHT - FRAME.bottom - (Math.min(y, top) / top) * (HEIGHT - FRAME.top - FRAME.bottom);
  const line = (x1: number, y1: number, x2: number, y2: number, style: string): string =>
    `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" ${style}/>`;
  const text = (x: number, y: number, words: string, style = ''): string =>
    `<text x="${round(x)}" y="${round(y)}" ${style}>${words}</text>`;
  const parts = [
    text(FRAME.left, 18, title, 'font-weight="bold"'),
    ...[0, 0.25, 0.5, 0.75, 1].flatMap((part) => [
      line(FRAME.left, yOf(part * top), WIDTH - FRAME.right, yOf(part * top), 'stroke="#ddd"'),
      text(FRAME.left - 6, yOf(part * top) + 4, `${round(part * top)}`, 'text-anchor="end"'),
      text(xOf(part * lastX), HEIGHT - FRAME.bottom + 16, `${round(part * lastX)} s`, 'text-anchor="middle"'),
    ]),
    text(FRAME.left - 6, FRAME.top - 6, unit, 'text-anchor="end"'),
    ...marks.map((x) =>
      line(xOf(x), FRAME.top, xOf(x), HEIGHT - FRAME.bottom, 'stroke="#999" stroke-dasharray="4 3"'),
    ),
    ...series.flatMap((each, index) => {
      const colour = COLOURS[index % COLOURS.length] ?? '';
      const points = thinned(each).map(([x, y]) => `${round(xOf(x))},${round(yOf(y))}`);
      return [
        `<polyline fill="none" stroke="${colour}" stroke-width="1.5" points="${points.join(' ')}"/>`,
        text(
          FRAME.left + (index * (WIDTH - FRAME.left)) / series.length,
          HEIGHT - 4,
          each.label,
          `fill="${colour}"`,
        ),
      ];
    }),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11">
<title>${title}</title>
<rect width="${WIDTH}" height="${HEIGHT}" fill="white"/>
${parts.join('\n')}
</svg>
`;
}

const round = (value: number): number => Math.round(value * 10) / 10;

function thinned({ points }: Series): Series['points'] {
  const every = Math.ceil(points.length / POINTS_MAX);
  return points.filter((_, index) => index % every === 0);
}

/** The next of 1, 2, 4 or 5 times a power of ten. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-9)));
  return power * ([1, 2, 4, 5, 8, 10].find((factor) => factor * power >= value * 1.02) ?? 20);
}
