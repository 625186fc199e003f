/**
 * For tests only: scripts that are played to a core, and a way to write keys in them.
 *
 *     <ms> <what happens> <details>
 *            > <effect>        (one line each, in order; none if nothing is to happen)
 *
 * A played script is compared with itself: what really happened is written in the same form, so a
 * failure shows both one beside the other, ready to be pasted in by someone who can say why it is
 * right.
 *
 * Keys are told in sixteenths of the ring. `0-4` is its first quarter, `0-4#7` the same under number
 * 7, `0-4#7!` recalled, and `0-4#9<0-2#7,2-4#8` under a number that continues two others.
 */

import { RING_SIZE } from '../../runtime/keys/position.ts';
import type { Span } from '../../runtime/keys/range.ts';
import { type Instant, instant } from '../../runtime/time.ts';
import type { GrantedSpan, LetGo, NumberedSpan, TicketSpan } from './messages.ts';

/** What happens in answer to a line of the script, as lines. */
export type Perform = (verb: string, words: readonly string[], now: Instant) => readonly string[];

/** The script as it really went, and as it was written. */
export function play(script: string, perform: Perform): { readonly went: string; readonly written: string } {
  const lines = script
    .split('\n')
    .map((line) => line.trim().replace(/\s+/g, ' '))
    .filter((line) => line !== '' && !line.startsWith('--'));
  const went: string[] = [];
  for (const line of lines) {
    if (line.startsWith('>')) continue;
    const [ms, verb = '', ...words] = line.split(' ');
    went.push(line, ...perform(verb, words, instant(Number(ms))).map((effect) => `> ${effect}`));
  }
  return { went: went.join('\n'), written: lines.join('\n') };
}

/** `key=value` among the words of a line. */
export function option(words: readonly string[], key: string): string | undefined {
  return words.find((word) => word.startsWith(`${key}=`))?.slice(key.length + 1);
}

/** The words that are not `key=value`. */
export const plainWords = (words: readonly string[]): readonly string[] =>
  words.filter((word) => !/^[a-z]+=/.test(word));

export const SIXTEENTH: bigint = RING_SIZE / 16n;
export const at = (sixteenth: number): bigint => BigInt(sixteenth) * SIXTEENTH;

export function span(text: string): Span {
  const [start, end] = text.split('-');
  return { start: at(Number(start)), end: at(Number(end)) };
}

export function numbered(text: string): NumberedSpan {
  const [place = '', number] = text.split('#');
  return { ...span(place), number: Number(number) };
}

export function granted(text: string): GrantedSpan {
  const [now = '', before] = text.split('<');
  const continues = before === undefined ? [] : before.split(',').map(numbered);
  return { ...numbered(now.replace('!', '')), recalled: now.endsWith('!'), continues };
}

/** `lapsed:0-4#7` or `released:0-4#7`. */
export function letGo(text: string): LetGo {
  const [how, rest = ''] = text.split(':');
  return { ...numbered(rest), how: how === 'lapsed' ? 'lapsed' : 'released' };
}

/** `t1:0-4#7>b=d`: the ticket, its keys, the other owner, and the digest, if there is one. */
function ticketOf(
  text: string,
): TicketSpan & { readonly other: string; readonly digest: string | undefined } {
  const [ticket = '', rest = ''] = text.split(':');
  const [place = '', other = '', digest] = rest.split(/[<>=]/);
  return { ...numbered(place), ticket, other, digest };
}

/** `key=<ticket>,<ticket>` among the words of a line. */
export const ticketsOf = (words: readonly string[], key: string): readonly ReturnType<typeof ticketOf>[] =>
  option(words, key)?.split(',').map(ticketOf) ?? [];

export const showSpan = ({ start, end }: Span): string => `${start / SIXTEENTH}-${end / SIXTEENTH}`;

export const showNumbered = (piece: NumberedSpan): string => `${showSpan(piece)}#${piece.number}`;

export function showGranted(piece: GrantedSpan): string {
  const continues = piece.continues.map(showNumbered).join(',');
  return `${showNumbered(piece)}${piece.recalled ? '!' : ''}${continues === '' ? '' : `<${continues}`}`;
}

export const showLetGo = (piece: LetGo): string => `${piece.how}:${showNumbered(piece)}`;

/** One after the other, or nothing. */
export const list = <T>(items: readonly T[], show: (item: T) => string): string =>
  items.map((item) => ` ${show(item)}`).join('');
