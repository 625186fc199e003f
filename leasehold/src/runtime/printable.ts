/**
 * Text that somebody else chose, made fit for a terminal, a log line, an error message.
 *
 * A name with an escape sequence could clear an operator's screen, one with a line end could forge a log line, and one
 * with a right-to-left override could show another name. So every control character, every invisible format character
 * and every line separator is shown as an escape: `\x1b`, `\n`, `\u202e`. The result is on one line, and reads in the
 * written order. The two joiners that some scripts and emoji need are left alone: they control nothing.
 *
 * A backslash stays a backslash: text that was escaped once is not changed by being escaped again.
 */

/** Control, format, unpaired surrogate, line and paragraph separators; but neither U+200C nor U+200D. */
const CONTROLS = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
const EACH = new RegExp(CONTROLS, 'gu');

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

export const printable = (text: string): string => text.replace(EACH, escaped);

/** Whether the text has something that {@link printable} would escape. */
export const hasControls = (text: string): boolean => CONTROLS.test(text);

/** As `JSON.stringify`, with the remaining control characters as `\u…`: the same value, fit for a terminal. */
export const printableJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, undefined, indent).replace(EACH, (found) => (found === '\n' ? found : inJson(found)));

/** Every text within, as {@link printable} gives it. */
export function printableAll<T>(value: T): T {
  if (typeof value === 'string') return printable(value) as T;
  if (Array.isArray(value)) return value.map(printableAll) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, printableAll(field)])) as T;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code > 0xffff) return `\\u{${digits}}`;
  return (
    SHORT[character] ?? (code > 0xff ? `\\u${digits.padStart(4, '0')}` : `\\x${digits.padStart(2, '0')}`)
  );
}

const inJson = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => {
    return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`;
  }).join('');
