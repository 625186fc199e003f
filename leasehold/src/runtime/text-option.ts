import { InvalidOptionError } from './errors.ts';

/** @throws {InvalidOptionError} unless it is a text that the wire can carry */
export function textOption(option: string, value: unknown, longest: number): string {
  const isText = typeof value === 'string' && value !== '' && value.length <= longest;
  if (!isText) throw new InvalidOptionError(option, value, `it must be a text of 1 to ${longest} characters`);
  // Half of a pair of surrogates has no UTF-8: what comes back from the wire would be another text.
  if (/\p{Surrogate}/u.test(value))
    throw new InvalidOptionError(option, value, 'it must be well-formed Unicode');
  return value;
}
