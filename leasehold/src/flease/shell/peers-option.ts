/** The names that members and resources may have, and the addresses that members may be at. */

import { Buffer } from 'node:buffer';
import { checkPeers as checkPeerNames, type Peers } from '../../node/mesh/peers-option.ts';
import { invalidOption } from '../../runtime/errors.ts';
import { textOption } from '../../runtime/text-option.ts';
import { RESOURCE_BYTES_MAX } from '../core/messages.ts';
import { NAME_CHARACTERS_MAX } from '../core/view.ts';

export { checkAddress, type Peers } from '../../node/mesh/peers-option.ts';

/** @throws {InvalidArgumentError} for a malformed list, or for two members at one address */
export const checkPeers = (option: string, peers: Peers): ReadonlyMap<string, string> =>
  checkPeerNames(option, peers, NAME_CHARACTERS_MAX);

/** @throws {InvalidArgumentError} unless it is the name of a resource */
export function checkResource(resource: unknown): void {
  if (typeof resource !== 'string' || resource === '') {
    throw invalidOption('resource', resource, 'it must be a text that names something');
  }
  if (isAscii(resource) && resource.length <= RESOURCE_BYTES_MAX) return;
  const bytes = Buffer.byteLength(resource);
  if (bytes > RESOURCE_BYTES_MAX) {
    const rule = `it must have at most ${RESOURCE_BYTES_MAX} bytes in UTF-8, and has ${bytes}`;
    throw invalidOption('resource', `${resource.slice(0, 32)}…`, rule);
  }
  textOption('resource', resource, RESOURCE_BYTES_MAX);
}

function isAscii(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) >= 0x80) return false;
  return true;
}
