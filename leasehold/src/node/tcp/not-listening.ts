/** Why a process cannot listen where it was told to, in words for a reader without the codes of the system. */

import type { LeaseholdError } from '../../runtime/errors.ts';
import { AddressUnavailableError, PortInUseError } from './errors.ts';

const WHY: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the name of the host is not known',
};

export function whyNotListening(host: string, port: number, cause: Error): LeaseholdError {
  const code = 'code' in cause ? String(cause.code) : '';
  if (code === 'EADDRINUSE') return new PortInUseError(host, port, { cause });
  return new AddressUnavailableError(host, port, WHY[code] ?? cause.message, { cause });
}
