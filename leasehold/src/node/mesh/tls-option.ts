/** The option `tls` of everything that has a mesh: all three files, or plain TCP. */

import { InvalidOptionError } from '../../runtime/errors.ts';
import { checkOptionNames } from '../../runtime/option-names.ts';
import { type SecureContextOptions, type SecureTexts, secureTexts } from '../http-client/secure-context.ts';
import { mutualTls } from '../tcp/mutual-tls.ts';
import type { DialSockets, ListenSockets } from '../tcp/sockets.ts';
import type { TlsOption } from './tls-files.ts';

/** @internal @throws {InvalidOptionError} if a file is missing or is none */
export const mutualTlsOption = (tls: TlsOption | undefined): (ListenSockets & DialSockets) | undefined =>
  tls === undefined ? undefined : mutualTls(textsOf(tls));

/** A side without a certificate could be played by anybody. */
function checkTls(tls: SecureContextOptions): SecureContextOptions {
  checkOptionNames('tls.', tls, { ca: true, cert: true, key: true });
  for (const name of ['ca', 'cert', 'key'] as const) {
    if (tls[name] === undefined)
      throw new InvalidOptionError(`tls.${name}`, undefined, 'all three are needed');
  }
  return tls;
}

/** @throws {InvalidOptionError} under the name that the option has here */
function textsOf(tls: SecureContextOptions): SecureTexts {
  try {
    return secureTexts(checkTls(tls));
  } catch (error) {
    if (!(error instanceof InvalidOptionError) || error.option.startsWith('tls.')) throw error;
    throw new InvalidOptionError(`tls.${error.option}`, error.value, error.rule);
  }
}
