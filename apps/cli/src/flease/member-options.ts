/**
 * Which member of which cell a command is, as the command line says it. The peers are the same for every command on
 * every machine and the name for every command on one of them, so both may stand in the environment.
 */

import { type Command, Option } from 'commander';
import type { JoinFleaseOptions, Peers } from 'leasehold/flease';
import { isLoopback, noToken } from 'leasehold/internal';
import type { Context } from '../context.ts';
import { UsageError } from '../failure.ts';
import { milliseconds, wholeNumberFrom } from '../options.ts';
import { httpAddress, type HttpPlace } from '../serve-http.ts';
import { insecureOf, tlsOf, type TlsFlags, withTlsFlags } from '../tls-options.ts';
import { refuseOwnPort } from './own-ports.ts';

const PEERS_VARIABLE = 'LEASEHOLD_FLEASE_PEERS';
const NAME_VARIABLE = 'LEASEHOLD_FLEASE_NAME';
const PEERS_EXAMPLE = 'ada=10.0.0.1:7500,ben=10.0.0.2:7500,cyd=10.0.0.3:7500';

export interface MemberOptions extends TlsFlags {
  readonly name?: string;
  readonly peers?: string;
  readonly cell?: string;
  /** In milliseconds. */
  readonly lease?: number;
  /** In milliseconds. */
  readonly clockSkew?: number;
  readonly listen?: string;
  readonly advertise?: string;
  readonly peersVersion?: number;
  readonly peersBefore?: string;
  readonly insecure?: true;
  readonly http?: string | false;
}

export const withMemberOptions = (command: Command): Command =>
  withTlsFlags(command, 'the certificate of this member, which names the address that the others dial')
    .option('--name <name>', `the name of this member among the peers (default: ${NAME_VARIABLE})`)
    .option(
      '--peers <addresses>',
      `all members, including this one, as a=host:port,b=host:port (default: ${PEERS_VARIABLE})`,
    )
    .option(
      '--cell <name>',
      'the name of the cell; cells with different names ignore each other (default: default)',
    )
    .addOption(
      new Option(
        '--lease <time>',
        'how long a lease lasts unless it is renewed; the same everywhere (default: 10s)',
      ).argParser(milliseconds),
    )
    .addOption(
      new Option(
        '--clock-skew <time>',
        'twice what a clock may be off from true time; the same everywhere (default: 500ms, or a tenth of the lease)',
      ).argParser(milliseconds),
    )
    .option('--listen <address>', 'where to listen, if not at the address in --peers, as 0.0.0.0:7500')
    .option(
      '--advertise <address>',
      'what the others dial; must be its own address in --peers, and is that by default',
    )
    .addOption(
      new Option('--peers-version <number>', 'one more with each change of the peers (default: 1)').argParser(
        wholeNumberFrom(1),
      ),
    )
    .option('--peers-before <addresses>', 'the peers of the version before, while the peers change')
    .option(
      '--insecure',
      'allow listening beyond loopback without TLS, where any process that can connect can act as a member',
    );

/** @throws {UsageError} */
export function joinOptionsOf(context: Context, options: MemberOptions): JoinFleaseOptions {
  const { environment } = context;
  const peers = options.peers ?? (environment[PEERS_VARIABLE] || undefined);
  const name = options.name ?? (environment[NAME_VARIABLE] || undefined);
  if (peers === undefined) {
    throw new UsageError(`who is in the cell? Give --peers ${PEERS_EXAMPLE}, or set ${PEERS_VARIABLE}`);
  }
  const parsed = peersOf('--peers', peers);
  if (name === undefined) {
    const names = Object.keys(parsed).join(', ');
    throw new UsageError(`which of ${names} is this? Give --name, or set ${NAME_VARIABLE}`);
  }
  if (!Object.hasOwn(parsed, name)) {
    throw new UsageError(
      `"${name}" is not among the peers, which are ${Object.keys(parsed).join(', ')}: check --name, or add it with its address on every member`,
    );
  }
  return {
    ...{ name, peers: parsed, cell: options.cell },
    ...{ listen: options.listen, advertise: options.advertise },
    peersVersion: options.peersVersion,
    peersBefore:
      options.peersBefore === undefined ? undefined : peersOf('--peers-before', options.peersBefore),
    ...{ leaseMs: options.lease, clockSkewMs: options.clockSkew },
    ...{ tls: tlsOf(options), insecure: insecureOf(context, options, options.http) },
  };
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
  { name, peers, listen }: Pick<JoinFleaseOptions, 'name' | 'peers' | 'listen'>,
): HttpPlace | undefined {
  if (http === undefined || http === false) return undefined;
  const place = httpAddress(http);
  if (insecure !== true && !isLoopback(place.host)) {
    throw noToken('--http', http, 'http');
  }
  const what = `${name} listens for the others (${listen === undefined ? '--peers' : '--listen'})`;
  refuseOwnPort(listen ?? peers[name], what, [{ ...place, said: `--http ${http}` }]);
  return { ...place, insecure };
}
