import { createHash } from 'node:crypto';

/** The SHA-256 of a secret, in hexadecimal: what may be told to others to recognise it later. */
export const digest = (secret: string): string => createHash('sha256').update(secret).digest('hex');
