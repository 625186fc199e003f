/** Where the replicas are, and how long to wait for them, as the command line says. */

import { type Command, Option } from 'commander';
import { connectQuorum, LeaseholdError, type QuorumClient, silent } from 'leasehold/quorum';
import { tlsOf, type TlsFlags, withTlsFlags } from '../tls-options.ts';
import type { Context } from '../context.ts';
import { list, milliseconds, variablesOf } from '../options.ts';
import type { JsonOption } from '../output.ts';

const VARIABLE = 'LEASEHOLD_QUORUM_AT';
const USUAL = '127.0.0.1:7600';

export interface ClientOptions extends JsonOption, TlsFlags {
  readonly cell?: string;
  readonly at?: readonly string[];
  readonly timeout?: number;
}

export const withClientOptions = (command: Command): Command =>
  withTlsFlags(command, 'the certificate of this client')
    .option(
      '--cell <name>',
      'the cell of the replicas, which their tokens must grant (default: LEASEHOLD_QUORUM_CELL, or default)',
    )
    .addOption(
      new Option(
        '--at <addresses>',
        `replicas, as host:port,host:port (default: ${VARIABLE}, or ${USUAL})`,
      ).argParser(list),
    )
    .addOption(
      new Option('--timeout <time>', 'how long to wait for an answer (default: 10s)').argParser(milliseconds),
    );

/** A port alone is asked at this machine, as with every `--at`. */
const atThisMachine = (place: string): string => (/^\d{1,5}$/.test(place) ? `127.0.0.1:${place}` : place);

/**
 * Connects, acts and closes.
 *
 * @throws {UnavailableError} {OutcomeUnknownError} whose message names the servers that were asked, and how to name others
 */
export async function withClient(
  context: Context,
  options: ClientOptions,
  act: (client: QuorumClient) => Promise<void>,
): Promise<void> {
  const said = variablesOf(context, 'QUORUM');
  const servers = (options.at ?? list(said('AT') ?? USUAL)).map(atThisMachine);
  await using client = await connectQuorum({
    servers,
    inOrder: true,
    cell: options.cell ?? said('CELL'),
    tls: tlsOf(options),
    timeoutMs: options.timeout,
    logger: silent,
  });
  try {
    await act(client);
  } catch (error) {
    if (error instanceof LeaseholdError && error.details['why'] === 'timeout')
      error.message += `. Asked: ${servers.join(', ')}. Give the addresses of the replicas with --at or in ${VARIABLE}`;
    throw error;
  }
}
