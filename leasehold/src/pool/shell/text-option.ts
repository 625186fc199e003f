import { InvalidOptionError } from '../../runtime/errors.ts';

/** @throws {InvalidOptionError} unless it is a text that the wire can carry */
export function textOption(option: string, value: unknown, longest: number): string {
  if (typeof value === 'string' && value !== '' && value.length <= longest) return value;
  throw new InvalidOptionError(option, value, `it must be a text of 1 to ${longest} characters`);
}
