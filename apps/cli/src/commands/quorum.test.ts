import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveStatus } from 'leasehold';
import { type QuorumReplica, silent, startReplica } from 'leasehold/quorum';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lastingPort } from '../../../../leasehold/src/node/testing/lasting-port.ts';
import { runCli } from '../cli.ts';
import { recordedContext } from '../testing/recorded-context.ts';

let directory: string;
let replica: QuorumReplica;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'quorum-cli-'));
  const peers = { a: `127.0.0.1:${await lastingPort()}` };
  replica = await startReplica({ name: 'a', directory, peers, logger: silent });
  await replica.ready();
});

afterAll(async () => {
  await replica[Symbol.asyncDispose]();
  await rm(directory, { recursive: true });
});

/** What a command prints, or complains of, and its exit code. */
async function run(...words: readonly string[]): Promise<{ code: number; text: string }> {
  const context = recordedContext({ environment: { LEASEHOLD_QUORUM_AT: replica.address } });
  const code = await runCli(['quorum', ...words], context);
  return { code, text: context.printed() + context.complained() };
}

describe('leasehold quorum', () => {
  it('writes, reads and deletes a key', async () => {
    expect((await run('put', 'k', 'v')).text).toMatch(/^Written, revision \d+\.\n$/);
    expect(await run('get', 'k')).toEqual({ code: 0, text: 'v\n' });
    const { text } = await run('get', 'k', '--mode', 'log', '--json');
    expect(JSON.parse(text)).toMatchObject({ key: 'k', value: 'v', served: 'log' });
    await run('delete', 'k');
    expect(await run('get', 'k')).toEqual({ code: 4, text: 'There is no "k".\n' });
  });

  it('writes under a condition, and says if it did not hold', async () => {
    expect((await run('put', 'once', '1', '--if-absent')).code).toBe(0);
    const { code, text } = await run('put', 'once', '2', '--if-absent');
    expect([code, text]).toEqual([1, expect.stringMatching(/^Not written: the key has revision \d+\.\n$/)]);
    const both = await run('put', 'once', '2', '--if-absent', '--if-revision', '7');
    expect(both).toMatchObject({ code: 2, text: expect.stringContaining('contradict each other') });
  });

  it.each([['get', 'k'], ['watch']])(
    '%s says which servers did not answer, and ends with 3',
    async (...words) => {
      const asked = await run(...words, '--at', '127.0.0.1:1', '--timeout', '100ms');
      expect(asked.code).toBe(3);
      expect(asked.text).toMatch(/Asked: 127\.0\.0\.1:1\. .* --at or in LEASEHOLD_QUORUM_AT \(TIMEOUT\)/);
    },
  );

  it('shows the cell and its leases', async () => {
    const { text } = await run('status');
    expect(text).toContain('Replica a of cell default: leader, reads locally');
    expect(text).toContain(replica.address);
    expect((await run('leases')).text).toContain('Replica a reads locally; leases of 2 s, readers: all');
    expect(JSON.parse((await run('status', '--json')).text)).toMatchObject({ leader: 'a' });
  });

  it('changes the readers, and shows who holds how much and why', async () => {
    expect(await run('readers', 'automatic')).toEqual({ code: 0, text: 'Readers: automatic.\n' });
    const { text } = await run('leases');
    expect(text).toContain('readers: automatic: all');
    expect(text).toMatch(/HOLDER +OF 256 SLICES +OF 0 SINGLE OBJECTS\s+a +256 \(100 %\)/);
    expect(text).toContain('a millisecond of a writer counts as 1.00 of readers');
    expect(JSON.parse((await run('leases', '--json')).text)).toMatchObject({
      readers: { mode: 'automatic' },
    });
    expect((await run('readers', 'all')).code).toBe(0);
    expect((await run('readers', 'some')).code).toBe(2);
  });

  it('says why the cell cannot be changed, and what to do', async () => {
    const { code, text } = await run('add', 'x', '--timeout', '2s');
    expect(code).toBe(75);
    expect(text).toContain('Start the replica with newcomer: true (--newcomer)');
    expect((await run('remove', 'a')).text).toContain('it is the last member');
    expect((await run('step-down')).text).toContain('there is no other member that could lead');
  });

  it('start says that a replica runs on the directory already', async () => {
    const started = ['start', '--name', 'a', '--data', directory, '--peers', `a=${replica.address}`];
    const { code, text } = await run(...started, '--no-http');
    expect(code).toBe(1);
    expect(text).toContain('a process runs a replica on it already');
    expect(text).not.toContain('another path');
  });

  it('start names --http if that port is in use', async () => {
    await using taken = await serveStatus(replica, { listen: '127.0.0.1:0', logger: silent });
    const own = await mkdtemp(join(tmpdir(), 'quorum-cli-'));
    const peers = `z=127.0.0.1:${await lastingPort()}`;
    const { text } = await run(
      ...['start', '--name', 'z', '--data', own, '--peers', peers, '--http', new URL(taken.url).host],
    );
    await rm(own, { recursive: true });
    expect(text).toContain('choose another port with --http <port>, or serve no status with --no-http');
  });

  it('start asks which replica this is, and reads what is not given from variables', async () => {
    expect((await run('start')).text).toContain('Give --peers, or set LEASEHOLD_QUORUM_PEERS');
    const peers = `a=${replica.address},b=127.0.0.1:1`;
    const asked = await run('start', '--peers', peers);
    expect([asked.code, asked.text]).toEqual([
      2,
      expect.stringContaining('which of a, b is this? Give --name'),
    ]);
    const context = recordedContext({
      environment: { LEASEHOLD_QUORUM_PEERS: peers, LEASEHOLD_NAME: 'a', LEASEHOLD_QUORUM_DATA: directory },
    });
    expect(await runCli(['quorum', 'start', '--no-http'], context)).toBe(1);
    expect(context.complained()).toContain('a process runs a replica on it already');
  });

  it('says so when nobody answers', async () => {
    const { code, text } = await run('get', 'k', '--at', '127.0.0.1:1', '--timeout', '200ms', '--json');
    expect(code).toBe(3);
    expect(JSON.parse(text)).toMatchObject({
      error: { code: 'TIMEOUT', retryable: true, isOutcomeKnown: true },
    });
  });
});
