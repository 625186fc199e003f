import { randomBytes } from 'node:crypto';

/** An id that nobody else has drawn or can guess, in hexadecimal: two digits a byte. */
export const randomId = (bytes = 16): string => randomBytes(bytes).toString('hex');
