/**
 * A look-up that keeps its place in the log but no table: eight thousand tables of a hundred thousand
 * rows would fill the memory of the machine, and what is measured is the Manager. It reads the envelope
 * of what it is told and leaves the packed rows alone.
 */

import { later } from '../../../leasehold/src/runtime/time.ts';
import type { Runtime } from '../../../leasehold/src/runtime/runtime.ts';
import type { Seen } from '../../../leasehold/src/pool/core/messages.ts';
import { ByteReader } from '../../../leasehold/src/runtime/msgpack/bytes.ts';
import { KEYS } from '../../../leasehold/src/pool/wire/keys.ts';
import { readMap } from '../../../leasehold/src/runtime/msgpack/msgpack.ts';
import { Line } from './line.ts';

/** The papers' 30 s, drawn as the core draws it. */
const SYNC_EVERY_MS = 30_000;

export class FleetLookup {
  readonly id: string;
  readonly line: Line;
  readonly #runtime: Runtime;
  #sequence = 0;
  #timer: Disposable | undefined;
  seen: Seen | undefined;
  /** When the last push came. */
  pushedAt = 0;
  pushes = 0;
  gaps = 0;

  constructor(runtime: Runtime, port: number, id: string) {
    this.id = id;
    this.#runtime = runtime;
    this.line = new Line(
      port,
      'lookup',
      () => this.#sync(),
      (frame) => this.#hear(frame),
    );
  }

  die(): void {
    this.#timer?.[Symbol.dispose]();
    this.line.cut();
  }

  #sync(): void {
    this.#sequence += 1;
    this.line.send({
      kind: 'sync',
      pool: 'bench',
      lookup: this.id,
      sequence: this.#sequence,
      seen: this.seen,
    });
    this.#timer?.[Symbol.dispose]();
    const waitMs = SYNC_EVERY_MS * (0.95 + this.#runtime.random() / 20);
    this.#timer = this.#runtime.wakeAt(later(this.#runtime.now(), waitMs), () => this.#sync());
  }

  #hear(frame: Uint8Array): void {
    const fields = readMap(new ByteReader(frame));
    if (fields.get(KEYS.kind) !== 'changes') return;
    const number = (key: string): number => Number(fields.get(key));
    const [from, to] = [number(KEYS.from), number(KEYS.to)];
    const isPush = fields.get(KEYS.answers) === undefined;
    if (isPush && from > (this.seen?.position ?? 0)) {
      this.gaps += 1;
      if (this.seen !== undefined) this.#sync();
      return;
    }
    if (isPush) {
      this.pushes += 1;
      this.pushedAt = this.#runtime.now();
    }
    if (to >= (this.seen?.position ?? 0)) {
      this.seen = { history: String(fields.get(KEYS.history)), term: number(KEYS.term), position: to };
    }
  }
}
