/** Where the replicas are, and how long to wait for them, as the command line says. */

import { type Command, Option } from 'commander';
import { connectQuorum, type QuorumClient, QuorumTimeoutError, silent } from 'leasehold/quorum';
import { tlsOf } from '../commands/quorum-start.ts';
import type { Context } from '../context.ts';
import { list, milliseconds } from '../options.ts';
import type { JsonOption } from '../output.ts';

const VARIABLE = 'LEASEHOLD_QUORUM';
const USUAL = '127.0.0.1:7600';

export interface ClientOptions extends JsonOption {
  readonly servers?: readonly string[];
  readonly timeout?: number;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** A client, and the options for each of its calls. */
export type CommandClient = QuorumClient & { readonly options: { readonly timeoutMs: number } };

const DEFAULT_TIMEOUT_MS = 10_000;

export const withClientOptions = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--servers <addresses>',
        `replicas, as host:port,host:port (default: ${VARIABLE}, or ${USUAL})`,
      ).argParser(list),
    )
    .addOption(
      new Option('--timeout <time>', 'how long to wait for an answer (default: 10s)').argParser(milliseconds),
    )
    .option('--ca <file>', 'certificates of the authority; TLS, with --cert and --key')
    .option('--cert <file>', 'the certificate of this client')
    .option('--key <file>', 'the private key of --cert');

/**
 * Connects, acts and closes.
 *
 * @throws {QuorumTimeoutError} whose message names the servers that were asked, and how to name others
 */
export async function withClient(
  { environment }: Context,
  options: ClientOptions,
  act: (client: CommandClient) => Promise<void>,
): Promise<void> {
  const servers = options.servers ?? list(environment[VARIABLE] || USUAL);
  await using client = connectQuorum({ servers, inOrder: true, tls: tlsOf(options), logger: silent });
  const timeoutMs = options.timeout ?? DEFAULT_TIMEOUT_MS;
  try {
    await act(Object.assign(client, { options: { timeoutMs } }));
  } catch (error) {
    if (error instanceof QuorumTimeoutError)
      error.message += `. Asked: ${servers.join(', ')}. Give the addresses of the replicas with --servers or in ${VARIABLE}`;
    throw error;
  }
}
