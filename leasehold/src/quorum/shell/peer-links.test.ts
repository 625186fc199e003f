import { describe, expect, it, vi } from 'vitest';
import type { TcpListener } from '../../node/tcp/listen.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { type Logger, silent } from '../../runtime/logger.ts';
import { instant } from '../../runtime/time.ts';
import type { Reply } from '../wire/calls.ts';
import type { Inbound } from '../wire/codec.ts';
import type { Hello } from '../core/founding.ts';
import { PeerLinks } from './peer-links.ts';

const hello = (storage: string, life: number, process: string): Hello => ({
  ...{ kind: 'hello', cell: 'g', storage, life, process, address: '127.0.0.1:1' },
  ...{ initial: undefined, isJoining: false, cluster: undefined },
});

/** Links with a listener that only notes what it was told, and a clock that stands still. */
function linksOf(logger: Logger = silent) {
  const admitted: string[] = [];
  const refused: string[] = [];
  const heard: string[] = [];
  const clock = { ms: 0 };
  const listener = {
    admit: (connection: string) => admitted.push(connection),
    dismiss: (_: string, __: Error, [reply]: readonly Reply[]) =>
      refused.push(reply?.kind === 'failed' ? reply.code : ''),
  } as unknown as TcpListener<readonly Reply[], Inbound>;
  const runtime = nodeRuntime();
  vi.spyOn(runtime, 'now').mockImplementation(() => instant(clock.ms));
  const links = new PeerLinks({
    ...{ listen: { host: '127.0.0.1', port: 1 }, listener, secure: undefined, logger, cell: 'g' },
    runtime,
    peers: new Map(),
    hello: () => hello('a~1', 1, 'own'),
    judge: () => undefined,
    note: () => undefined,
    greeted: () => {},
    receive: (storage) => heard.push(storage),
    refused: () => {},
  });
  return { links, admitted, refused, heard, clock };
}

describe('a refusal that ends nothing', () => {
  it('is logged once, however often the address is dialled, and once more when it is over', async () => {
    const said: string[] = [];
    const logger = {
      ...silent,
      warn: (message: string) => void said.push(message),
      info: (message: string) => void said.push(message),
    };
    const { links, clock } = linksOf(logger);
    await using _ = links;
    const refusal = { kind: 'failed', id: 0, code: 'another-cluster', message: '' } as const;
    for (; clock.ms < 300_000; clock.ms += 15_000) links.answered('127.0.0.1:1', [refusal]);
    expect(said).toEqual([expect.stringContaining('Correct the addresses')]);
    links.heard('p1', hello('c~1', 1, 'mended'));
    expect(said).toEqual([expect.anything(), expect.stringMatching(/^over: /)]);
  });
});

describe('two processes with one storage id', () => {
  it('are not heard both: the later one waits for the end of the earlier one', async () => {
    const { links, admitted, refused, heard } = linksOf();
    await using _ = links;
    links.heard('p1', hello('c~1', 1, 'earlier'));
    links.heard('p2', hello('c~1', 2, 'later'));
    expect([admitted, refused]).toEqual([['p1'], ['still-connected']]);
    links.heard('p1', { kind: 'release', life: 1, number: 1, isDiskFull: false });
    expect(heard).toEqual(['c~1']);
    links.gone('p1');
    links.heard('p3', hello('c~1', 2, 'later'));
    expect(admitted).toEqual(['p1', 'p3']);
  });

  it('are told apart once the earlier one has outlived every doubt', async () => {
    const { links, refused, clock } = linksOf();
    await using _ = links;
    links.heard('p1', hello('c~1', 1, 'earlier'));
    for (; clock.ms <= 21_000; clock.ms += 1_000) links.heard('p2', hello('c~1', 2, 'later'));
    expect(new Set(refused.slice(0, -1))).toEqual(new Set(['still-connected']));
    expect(refused.at(-1)).toBe('running-twice');
  });

  it('are not told apart by a replica that stood still itself', async () => {
    const { links, refused, clock } = linksOf();
    await using _ = links;
    links.heard('p1', hello('c~1', 1, 'earlier'));
    links.heard('p2', hello('c~1', 2, 'later'));
    clock.ms += 3_600_000;
    links.heard('p3', hello('c~1', 2, 'later'));
    expect(refused).toEqual(['still-connected', 'still-connected']);
  });
});
