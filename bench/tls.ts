/**
 * What does TLS with a token cost beside plain TCP? Both over the transport of all modules, in one run, in processes of their own.
 *
 * The processor time of the *server* is counted, because a Manager serves many. A round measures plain and TLS one after the other, and a ratio is taken within the round, so
 * that what others do on this machine meets both alike; of the rounds the median counts, and their range is told.
 */

import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { readGrants } from '../leasehold/src/node/identity/grants.ts';
import { newKeyPair } from '../leasehold/src/node/identity/keys.ts';
import { makeToken } from '../leasehold/src/node/identity/token.ts';
import { secureSocketsOf } from '../leasehold/src/node/mesh/tls-option.ts';
import type { SecureSockets } from '../leasehold/src/node/tcp/secure-sockets.ts';
import { silent } from '../leasehold/src/runtime/logger.ts';
import { machineConditions } from './support/machine.ts';
import type { Program } from './support/processes/program.ts';
import { median } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';
import { EchoClient } from './support/tls/echo.ts';

const ROUNDS = 5;
const MESSAGE = new Uint8Array(200).fill(7);
const MANY = 32;
const ECHOES = { alone: 8_000, many: 32 * 1_500 };
const HANDSHAKES = 300;
const IDLE = 500;

interface Server {
  readonly program: Program;
  readonly address: string;
  readonly secure: SecureSockets | undefined;
}

/** What a round has found at one server. */
interface Costs {
  readonly aloneMicros: number;
  readonly manyMicros: number;
  readonly handshakeMs: number;
  readonly idleKilobytes: number;
}

const cpuMs = async ({ program }: Server): Promise<number> => (await program.ask<{ ms: number }>('cpu')).ms;

async function echoMicros(server: Server, echoes: number, aTurn: number): Promise<number> {
  await using client = await EchoClient.connect(server.address, server.secure);
  const run = async (messages: number): Promise<void> => {
    for (let said = 0; said < messages; said += aTurn) await client.echo(MESSAGE, aTurn);
  };
  await run(echoes / 4); // Until the code is compiled.
  const before = await cpuMs(server);
  await run(echoes);
  return (1_000 * ((await cpuMs(server)) - before)) / echoes;
}

async function handshakeMs(server: Server): Promise<number> {
  const before = await cpuMs(server);
  for (let made = 0; made < HANDSHAKES; made += 1) {
    const client = await EchoClient.connect(server.address, server.secure);
    await client[Symbol.asyncDispose]();
  }
  return ((await cpuMs(server)) - before) / HANDSHAKES;
}

async function idleKilobytes(server: Server): Promise<number> {
  const memory = () => server.program.ask<{ bytes: number; connections: number }>('memory');
  const before = await memory();
  const clients: EchoClient[] = [];
  for (let open = 0; open < IDLE; open += 1)
    clients.push(await EchoClient.connect(server.address, server.secure));
  const after = await memory();
  for (const client of clients) await client[Symbol.asyncDispose]();
  return (after.bytes - before.bytes) / 1024 / (after.connections - before.connections);
}

/** In a process that nobody has used before: memory that is free again would hide what connections take. */
async function costs(workshop: Workshop, bundle: string, token: string | false): Promise<Costs> {
  const program = workshop.start(token === false ? 'plain' : 'tls', bundle, { token });
  const address = String((await program.heard('ready'))['address']);
  const server = { program, address, secure: secureSocketsOf({ tls: token, logger: silent }, Date.now()) };
  try {
    return {
      idleKilobytes: await idleKilobytes(server),
      aloneMicros: await echoMicros(server, ECHOES.alone, 1),
      manyMicros: await echoMicros(server, ECHOES.many, MANY),
      handshakeMs: await handshakeMs(server),
    };
  } finally {
    program.kill();
    await program.ended;
  }
}

const digits = (value: number): string => String(Number(value.toPrecision(3)));

export const bench: Bench = {
  name: 'tls',
  describe: 'TLS with a token beside plain TCP: echo, handshake, memory of an idle connection.',

  async run(report, tools: BenchTools): Promise<BenchResult> {
    await using workshop = new Workshop(tools);
    const bundle = await workshop.bundle('tls/echo-server');
    const root = { cluster: 'bench', root: newKeyPair(), hosts: [], endS: undefined };
    const token = makeToken({ ...root, grants: readGrants('everything') });
    const rounds: { readonly plain: Costs; readonly tls: Costs }[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const [plain, tls] = [await costs(workshop, bundle, false), await costs(workshop, bundle, token)];
      rounds.push({ plain, tls });
      report(`round ${round} of ${ROUNDS}: ${JSON.stringify({ plain, tls })}`);
    }

    const ranges: Record<string, string> = {};
    const figure = (
      metric: string,
      unit: string,
      cost: keyof Costs,
      goal: { readonly ratio: number } | { readonly atMost: number },
    ): Figure => {
      const [ours, plain] = [rounds.map(({ tls }) => tls[cost]), rounds.map((round) => round.plain[cost])];
      const ratios = rounds.map(({ tls, plain: peer }) => tls[cost] / peer[cost]);
      const judged = 'ratio' in goal ? ratios : ours;
      const most = 'ratio' in goal ? goal.ratio : goal.atMost;
      const what = 'ratio' in goal ? 'times plain' : unit;
      ranges[`${metric}, range`] = `${digits(Math.min(...judged))} to ${digits(Math.max(...judged))} ${what}`;
      return {
        ...{ metric, unit, ours: median(ours), peers: [{ name: 'plain TCP', value: median(plain) }] },
        ...{ ratio: median(ratios), goal: `at most ${most} ${what}`, met: median(judged) <= most },
      };
    };
    const figures = [
      figure('echo of 200 bytes, one a turn, CPU of the server', 'µs', 'aloneMicros', { ratio: 1.6 }),
      figure(`echo of 200 bytes, ${MANY} a turn, CPU of the server`, 'µs', 'manyMicros', { ratio: 1.9 }),
      figure('handshake, CPU of the server', 'ms', 'handshakeMs', { atMost: 2 }),
      figure('memory of an idle connection', 'KB', 'idleKilobytes', { atMost: 95 }),
    ];
    const { alone, many } = ECHOES;
    return {
      name: 'TLS with a token beside plain TCP',
      conditions: {
        ...machineConditions(),
        rounds: ROUNDS,
        'in each round': `${alone} and ${many} echoes, ${HANDSHAKES} handshakes, ${IDLE} idle connections`,
        ...ranges,
      },
      figures,
    };
  },
};
