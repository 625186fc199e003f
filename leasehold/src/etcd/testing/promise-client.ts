/** The client's calls as promises, for tests that ask one thing after the other. */

import type {
  EtcdAnswer,
  EtcdClient,
  EtcdMemberHealth,
  EtcdOperation,
  EtcdRange,
  EtcdRangeResult,
  EtcdTransaction,
  EtcdTransactionResult,
} from '../client.ts';

const TIMEOUT_MS = 5_000;

export class PromiseClient {
  readonly client: EtcdClient;
  readonly #timeoutMs: number;

  constructor(client: EtcdClient, timeoutMs: number = TIMEOUT_MS) {
    this.client = client;
    this.#timeoutMs = timeoutMs;
  }

  grant(ttlSeconds: number): Promise<EtcdAnswer<{ lease: string; ttlSeconds: number }>> {
    return new Promise((resolve) => this.client.grant(ttlSeconds, this.#timeoutMs, resolve));
  }

  keepAlive(lease: string): Promise<EtcdAnswer<{ ttlSeconds: number }>> {
    return new Promise((resolve) => this.client.keepAlive(lease, this.#timeoutMs, resolve));
  }

  revoke(lease: string): Promise<EtcdAnswer<undefined>> {
    return new Promise((resolve) => this.client.revoke(lease, this.#timeoutMs, resolve));
  }

  transact(
    transaction: Partial<EtcdTransaction>,
    timeoutMs: number = this.#timeoutMs,
  ): Promise<EtcdAnswer<EtcdTransactionResult>> {
    const whole = { compare: [], success: [], failure: [], ...transaction };
    return new Promise((resolve) => this.client.transact(whole, timeoutMs, resolve));
  }

  /** Without any condition. */
  put(key: string, value: string | Uint8Array, lease?: string): Promise<EtcdAnswer<EtcdTransactionResult>> {
    return this.transact({ success: [put(key, value, lease)] });
  }

  range(range: EtcdRange, timeoutMs: number = this.#timeoutMs): Promise<EtcdAnswer<EtcdRangeResult>> {
    return new Promise((resolve) => this.client.range(range, timeoutMs, resolve));
  }

  health(): Promise<readonly EtcdMemberHealth[]> {
    return new Promise((resolve) => this.client.health(this.#timeoutMs, resolve));
  }
}

export const put = (key: string, value: string | Uint8Array, lease?: string): EtcdOperation => ({
  do: 'put',
  key,
  value: typeof value === 'string' ? Buffer.from(value) : value,
  lease,
});

/** The value of an answer that has one. */
export function done<T>(answer: EtcdAnswer<T>): T {
  if (answer.kind === 'done') return answer.value;
  throw new Error(
    answer.kind === 'unknown' ? `unknown: ${answer.why}` : `refused: ${answer.refusal.message}`,
  );
}

/** `put a 1`, `delete a`, `ended`, as a watch told them. */
export class Watched implements Disposable {
  readonly told: string[] = [];
  readonly revisions: number[] = [];
  readonly #watch: Disposable;
  #onWord: () => void = () => {};

  constructor(client: EtcdClient, key: string, end: string, fromRevision: number) {
    this.#watch = client.watch(key, end, fromRevision, {
      changed: (of, value, revision) => {
        this.revisions.push(revision);
        this.#tell(value === undefined ? `delete ${of}` : `put ${of} ${Buffer.from(value).toString()}`);
      },
      ended: (why, isCompacted) => this.#tell(isCompacted ? 'compacted' : `ended: ${why}`),
    });
  }

  /** Resolves with the first word that is such a one, also of those told before. */
  async until(is: (word: string) => boolean): Promise<string> {
    for (;;) {
      const found = this.told.find(is);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => (this.#onWord = resolve));
    }
  }

  [Symbol.dispose](): void {
    this.#watch[Symbol.dispose]();
  }

  #tell(word: string): void {
    this.told.push(word);
    this.#onWord();
  }
}
