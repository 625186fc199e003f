/** Cells of real replicas in one process, with directories of their own, for tests. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lastingPort } from '../../../node/testing/lasting-port.ts';
import { silent } from '../../../runtime/logger.ts';
import { connectQuorum } from '../connect-quorum.ts';
import type { QuorumClient } from '../quorum-client.ts';
import type { QuorumReplica } from '../quorum-replica.ts';
import { startReplica, type StartReplicaOptions } from '../start-replica.ts';

/** Short enough for a test, long enough for a busy machine. */
export const TEST_DURATIONS = { leaseMs: 1_000, electionMs: 600, sessionMs: 60_000 };

export class TestCell implements AsyncDisposable {
  readonly peers: Record<string, string> = {};
  readonly replicas: Map<string, QuorumReplica> = new Map<string, QuorumReplica>();
  readonly #clients: QuorumClient[] = [];
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
  }

  static async of(...names: readonly string[]): Promise<TestCell> {
    const cell = new TestCell(await mkdtemp(join(tmpdir(), 'quorum-')));
    for (const name of names) cell.peers[name] = `127.0.0.1:${await lastingPort()}`;
    return cell;
  }

  /** A cell that serves. */
  static async started(...names: readonly string[]): Promise<TestCell> {
    const cell = await TestCell.of(...names);
    for (const name of names) await cell.start(name);
    await cell.ready();
    return cell;
  }

  directory(name: string): string {
    return join(this.#root, name);
  }

  async start(name: string, options: Partial<StartReplicaOptions> = {}): Promise<QuorumReplica> {
    const replica = await startReplica({
      ...{ name, directory: this.directory(name), peers: this.peers, logger: silent, ...TEST_DURATIONS },
      ...options,
    });
    this.replicas.set(name, replica);
    return replica;
  }

  /** Resolves when the replica serves. @throws what ended it, during the start or after */
  async serves(name: string, options: Partial<StartReplicaOptions> = {}): Promise<void> {
    const before = this.replicas.get(name);
    const replica = await this.start(name, options);
    try {
      await replica.ready();
    } catch (error) {
      await replica.close(); // Until then the directory is locked.
      if (before !== undefined) this.replicas.set(name, before);
      throw error;
    }
  }

  async ready(): Promise<void> {
    await Promise.all([...this.replicas.values()].map((replica) => replica.ready()));
  }

  async stop(name: string): Promise<void> {
    await this.replicas.get(name)?.[Symbol.asyncDispose]();
    this.replicas.delete(name);
  }

  async freeAddress(): Promise<string> {
    return `127.0.0.1:${await lastingPort()}`;
  }

  async connect(...names: readonly string[]): Promise<QuorumClient> {
    const chosen = names.length === 0 ? Object.keys(this.peers) : names;
    const servers = chosen.map((name) => this.peers[name] as string);
    const client = await connectQuorum({ servers, inOrder: true, logger: silent });
    this.#clients.push(client);
    return client;
  }

  get leader(): string | undefined {
    return [...this.replicas.values()].find((replica) => replica.status().role === 'leader')?.name;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client[Symbol.asyncDispose]();
    for (const name of [...this.replicas.keys()]) await this.stop(name);
    await rm(this.#root, { recursive: true, force: true });
  }
}
