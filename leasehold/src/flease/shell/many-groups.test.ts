import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as path } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { leaveOutWithoutOpenssl, makeCertificates } from '../../node/http-client/certificates-script.ts';
import { PortInUseError, SharedAddressError } from '../../node/tcp/errors.ts';
import type { FleaseMember } from './flease-member.ts';
import { freePeers, join } from './testing/groups.ts';

const LONG_MS = 60_000;

const directory: string = mkdtempSync(path(tmpdir(), 'leasehold-many-groups-'));
afterAll(() => rmSync(directory, { recursive: true }));

const until = (isSo: () => unknown): Promise<unknown> =>
  vi.waitUntil(isSo, { timeout: LONG_MS, interval: 5 });

/** Members by name and group, as one process each would have them. */
class Members implements AsyncDisposable {
  readonly peers: Record<string, string>;
  readonly #members = new Map<string, FleaseMember>();

  private constructor(peers: Record<string, string>) {
    this.peers = peers;
  }

  static async of(...names: readonly string[]): Promise<Members> {
    return new Members(await freePeers(...names));
  }

  async join(name: string, group: string, ...members: readonly string[]): Promise<FleaseMember> {
    const peers = Object.fromEntries(members.map((each) => [each, this.peers[each] as string]));
    const member = await join(name, peers, { cell: group });
    this.#members.set(`${name} ${group}`, member);
    return member;
  }

  async close(name: string, group: string): Promise<void> {
    await this.#members.get(`${name} ${group}`)?.close();
    this.#members.delete(`${name} ${group}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#members.values()].map((member) => member.close()));
  }
}

describe('processes in many small groups', { timeout: 2 * LONG_MS }, () => {
  it('have one address each, and every group gives leases of its own', async () => {
    await using members = await Members.of('a', 'b', 'c', 'd');
    const groups = [
      ['red', 'a', 'b', 'c'],
      ['blue', 'b', 'c', 'd'],
      ['green', 'a', 'c', 'd'],
    ] as const;
    const joined = await Promise.all(
      groups.flatMap(([group, ...names]) => names.map((name) => members.join(name, group, ...names))),
    );
    await Promise.all(joined.map((member) => member.ready()));
    const leases = await Promise.all(
      groups.map((_, place) => (joined[3 * place] as FleaseMember).acquire('r', { timeoutMs: LONG_MS })),
    );
    for (const [place, [, first]] of groups.entries())
      expect(await (joined[3 * place + 1] as FleaseMember).holder('r')).toMatchObject({ holder: first });
    expect(leases.every((lease) => lease.isHeld())).toBe(true);
  });

  it('find a group that comes later, and go on with a group when another one is closed', async () => {
    await using members = await Members.of('a', 'b');
    const red = await members.join('a', 'red', 'a', 'b');
    await members.join('b', 'red', 'a', 'b');
    await red.acquire('r', { timeoutMs: LONG_MS });
    const blue = await members.join('a', 'blue', 'a', 'b');
    await until(() => blue.status().peers[0]?.problem !== undefined);
    await members.join('b', 'blue', 'a', 'b');
    await blue.acquire('r', { timeoutMs: LONG_MS });
    await members.close('a', 'red');
    await members.close('b', 'red');
    await blue.acquire('another', { timeoutMs: LONG_MS });
  });

  it('are told which groups are at an address, if theirs is not among them', async () => {
    await using members = await Members.of('a', 'b');
    await members.join('b', 'red', 'a', 'b');
    await members.join('b', 'blue', 'a', 'b');
    const green = await members.join('a', 'green', 'a', 'b');
    await until(() => green.status().peers[0]?.problem?.includes('no member of group green listens here'));
    expect(green.status().peers[0]?.problem).toContain('only of red, blue');
  });

  it('free the port with the last group', async () => {
    await using members = await Members.of('a');
    for (const group of ['red', 'blue']) await members.join('a', group, 'a');
    await members.close('a', 'red');
    await members.join('a', 'red', 'a');
    for (const group of ['blue', 'red']) await members.close('a', group);
    await members.join('a', 'green', 'a'); // The port was free: this listener opened it again.
  });
});

describe('two members of one process at one address', { timeout: LONG_MS }, () => {
  it('are refused in one group', async () => {
    await using members = await Members.of('a');
    await members.join('a', 'red', 'a');
    await members.join('a', 'blue', 'a');
    await expect(members.join('a', 'red', 'a')).rejects.toThrow(PortInUseError);
  });

  it('are refused in two groups with different certificates', async (context) => {
    leaveOutWithoutOpenssl(context);
    const certificates = makeCertificates(directory);
    const peers = await freePeers('a');
    const tls = { ca: certificates.ca, ...certificates.server };
    await using _red = await join('a', peers, { cell: 'red', tls });
    await using _blue = await join('a', peers, { cell: 'blue', tls });
    const plain = join('a', peers, { cell: 'green' });
    await expect(plain).rejects.toThrow(SharedAddressError);
    await expect(plain).rejects.toThrow(
      `group green cannot listen at ${peers['a']} with other certificates (tls) than red, blue of the same process`,
    );
    const stranger = join('a', peers, { cell: 'green', tls: { ...tls, ...certificates.stranger } });
    await expect(stranger).rejects.toMatchObject({ code: 'SHARED_ADDRESS', retryable: false });
  });
});
