import { invalidOption } from './errors.ts';
import { hasControls } from './printable.ts';

/** Of one that is too long the rest says nothing more. */
const SHOWN_CHARACTERS = 32;

/** Half of a pair of surrogates has no UTF-8: what comes back from the wire would be another text. */
export const isWellFormed = (text: string): boolean =>
  (text as string & { isWellFormed(): boolean }).isWellFormed(); // In Node 20; not in the types of ES2023.

/** @throws {InvalidArgumentError} unless it is a text that the wire can carry */
export function textOption(option: string, value: unknown, longest: number): string {
  if (typeof value !== 'string' || value === '' || value.length > longest) {
    const isTooLong = typeof value === 'string' && value !== '';
    const shown = isTooLong ? `${value.slice(0, SHOWN_CHARACTERS)}… (${value.length} characters)` : value;
    throw invalidOption(option, shown, `it must be a text of 1 to ${longest} characters`);
  }
  if (!isWellFormed(value)) throw invalidOption(option, value, 'it must be well-formed Unicode');
  return value;
}

/**
 * For names and urls, which others read on terminals and in logs.
 *
 * @throws {InvalidArgumentError} unless it is such a text, without control and invisible characters
 */
export function nameOption(option: string, value: unknown, longest: number): string {
  const text = textOption(option, value, longest);
  if (!hasControls(text)) return text;
  throw invalidOption(option, text, 'it must have no control or invisible characters in it');
}
