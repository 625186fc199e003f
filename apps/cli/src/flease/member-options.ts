/**
 * Which member of which group a command is, as the command line says it. The peers are the same for every command on
 * every machine and the id for every command on one of them, so both may stand in the environment.
 */

import { type Command, Option } from 'commander';
import type { JoinFleaseOptions, Peers, ServeFleaseOptions } from 'leasehold/flease';
import { type Address, isLoopback } from 'leasehold/internal';
import type { Context } from '../context.ts';
import { UsageError } from '../failure.ts';
import { milliseconds, wholeNumberFrom } from '../options.ts';
import { refuseOwnPort } from './own-ports.ts';

const PEERS_VARIABLE = 'LEASEHOLD_FLEASE_PEERS';
const ID_VARIABLE = 'LEASEHOLD_FLEASE_ID';
const PEERS_EXAMPLE = 'ada=10.0.0.1:7500,ben=10.0.0.2:7500,cyd=10.0.0.3:7500';

export interface MemberOptions {
  readonly id?: string;
  readonly peers?: string;
  readonly group?: string;
  /** In milliseconds. */
  readonly lease?: number;
  /** In milliseconds. */
  readonly skew?: number;
  readonly listen?: string;
  readonly view?: number;
  readonly before?: string;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly insecure?: true;
  readonly http?: string | false;
}

export const withMemberOptions = (command: Command): Command =>
  command
    .option('--id <name>', `the name of this member among the peers (default: ${ID_VARIABLE})`)
    .option(
      '--peers <addresses>',
      `all members, including this one, as a=host:port,b=host:port (default: ${PEERS_VARIABLE})`,
    )
    .option(
      '--group <name>',
      'the name of the group; groups with different names ignore each other (default: default)',
    )
    .addOption(
      new Option(
        '--lease <time>',
        'how long a lease lasts unless it is renewed; the same everywhere (default: 10s)',
      ).argParser(milliseconds),
    )
    .addOption(
      new Option(
        '--skew <time>',
        'twice what a clock may be off from true time; the same everywhere (default: 500ms, or a tenth of the lease)',
      ).argParser(milliseconds),
    )
    .option('--listen <address>', 'where to listen, if not at the address in --peers, as 0.0.0.0:7500')
    .addOption(
      new Option('--view <number>', 'one more with each change of the peers (default: 1)').argParser(
        wholeNumberFrom(1),
      ),
    )
    .option('--before <addresses>', 'the peers of the view before, while the group changes')
    .option('--ca <file>', 'certificate authorities that sign members; enables TLS, with --cert and --key')
    .option('--cert <file>', 'the certificate of this member, which names the address that the others dial')
    .option('--key <file>', 'the private key of --cert')
    .option(
      '--insecure',
      'allow listening beyond loopback without TLS, where any process that can connect can act as a member',
    );

/** @throws {UsageError} */
export function joinOptionsOf({ environment }: Context, options: MemberOptions): JoinFleaseOptions {
  const peers = options.peers ?? (environment[PEERS_VARIABLE] || undefined);
  const id = options.id ?? (environment[ID_VARIABLE] || undefined);
  if (peers === undefined) {
    throw new UsageError(`who is in the group? Give --peers ${PEERS_EXAMPLE}, or set ${PEERS_VARIABLE}`);
  }
  const parsed = peersOf('--peers', peers);
  if (id === undefined) {
    const names = Object.keys(parsed).join(', ');
    throw new UsageError(`which of ${names} is this? Give --id, or set ${ID_VARIABLE}`);
  }
  if (!Object.hasOwn(parsed, id)) {
    throw new UsageError(
      `"${id}" is not among the peers, which are ${Object.keys(parsed).join(', ')}: check --id, or add it with its address on every member`,
    );
  }
  return {
    ...{ id, peers: parsed, group: options.group, view: options.view, listen: options.listen },
    before: options.before === undefined ? undefined : peersOf('--before', options.before),
    ...{ leaseMs: options.lease, clockSkewMs: options.skew, insecure: options.insecure },
    tls: tlsOf(options),
  };
}

/** All three, or none. @throws {UsageError} */
export function tlsOf({
  ca,
  cert,
  key,
}: Pick<MemberOptions, 'ca' | 'cert' | 'key'>): JoinFleaseOptions['tls'] {
  if (ca !== undefined && cert !== undefined && key !== undefined) return { ca, cert, key };
  const missing = Object.entries({ ca, cert, key }).filter(([, value]) => value === undefined);
  if (missing.length === 3) return undefined;
  const names = missing.map(([name]) => `--${name}`).join(' and ');
  const verb = missing.length === 1 ? 'is' : 'are';
  throw new UsageError(`TLS needs --ca, --cert and --key, and ${names} ${verb} missing`);
}

/** `a=host:port,b=host:port`. @throws {UsageError} */
export function peersOf(option: string, text: string): Peers {
  const pairs = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
    .map((word) => {
      const at = word.indexOf('=');
      if (at < 1 || at === word.length - 1) {
        throw new UsageError(
          `"${word}" in ${option} is no member with its address; it looks like ${PEERS_EXAMPLE}`,
        );
      }
      return [word.slice(0, at), word.slice(at + 1)] as const;
    });
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new UsageError(`${option} has "${twice}" twice: members have different names`);
  return Object.fromEntries(pairs);
}

/**
 * `7501` or `host:7501`: where to tell how the member is. Undefined: nowhere.
 *
 * @param join where it listens as a member
 * @throws {UsageError}
 */
export function httpOf(
  { http, insecure }: Pick<MemberOptions, 'http' | 'insecure'>,
  { id, peers, listen }: Pick<JoinFleaseOptions, 'id' | 'peers' | 'listen'>,
): (Address & Pick<ServeFleaseOptions, 'insecure'>) | undefined {
  if (http === undefined || http === false) return undefined;
  const [, host = '127.0.0.1', port = ''] = /^(?:(\[[^\]]+\]|[^:]+):)?(\d{1,5})$/.exec(http) ?? [];
  if (port === '' || Number(port) > 65_535) {
    throw new UsageError(`"${http}" in --http is neither a port, as 7501, nor an address, as 10.0.0.1:7501`);
  }
  const place = { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  if (insecure !== true && !isLoopback(place.host)) {
    throw new UsageError(
      `--http is ${http}, but everybody who can connect there could read what is held; listen on 127.0.0.1, or say --insecure if the network keeps others away`,
    );
  }
  const what = `${id} listens for the others (${listen === undefined ? '--peers' : '--listen'})`;
  refuseOwnPort(listen ?? peers[id], what, [{ ...place, said: `--http ${http}` }]);
  return { ...place, insecure };
}
