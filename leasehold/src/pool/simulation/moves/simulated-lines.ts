/**
 * Lines between owners in a world: the carriage of the production streams and stages, with delays, a bandwidth, and cuts that a test or a seed decides on.
 *
 * A line keeps the order of its frames and loses none while it is open, as a connection does. A cut closes both ends, and what is on the way is lost.
 */

import { type LeaseholdError, UnavailableError } from '../../../runtime/errors.ts';
import type { World } from '../../../sim/world.ts';
import type { AcceptedLine, Carriage, DialledEnd, LineEnd } from '../../shell/moves/carriage.ts';

export interface SimulatedLinesOptions {
  readonly world: World;
  /** One way. @default 1 */
  readonly delayMs?: number | undefined;
  /** @default no limit */
  readonly bytesPerMs?: number | undefined;
}

export class SimulatedLines {
  readonly world: World;
  readonly delayMs: number;
  readonly bytesPerMs: number;
  /** Told of every frame on its way. */
  onFrame: ((from: 'source' | 'target', frame: Uint8Array) => void) | undefined;
  readonly #listeners = new Map<string, (line: AcceptedLine) => LineEnd>();
  readonly open: Set<SimulatedLine> = new Set<SimulatedLine>();
  #channels = 0;

  constructor({ world, delayMs = 1, bytesPerMs = Number.POSITIVE_INFINITY }: SimulatedLinesOptions) {
    this.world = world;
    this.delayMs = delayMs;
    this.bytesPerMs = bytesPerMs;
  }

  /** The lines of one owner. */
  carriage(address: string): Carriage {
    const own = new Set<Disposable>();
    return {
      address,
      accept: (callback) => void this.#listeners.set(address, callback),
      dial: (to, _, end) => {
        const line = new SimulatedLine(this, end);
        own.add(line);
        this.world.after(2 * this.delayMs, () =>
          line.connect(to, this.#listeners.get(to), this.#newChannel()),
        );
        return line;
      },
      [Symbol.asyncDispose]: async () => {
        this.#listeners.delete(address);
        for (const line of own) line[Symbol.dispose]();
      },
    };
  }

  /** Cuts every line that is open. */
  cut(): void {
    for (const line of [...this.open]) line.cut();
  }

  #newChannel(): string {
    this.#channels += 1;
    return this.#channels.toString(16).padStart(32, '0');
  }
}

/** Both ends of one line. */
class SimulatedLine implements Disposable {
  readonly #lines: SimulatedLines;
  readonly #source: DialledEnd;
  #target: LineEnd | undefined;
  #isClosed = false;
  /** When the last byte of each direction arrives. */
  readonly #busyUntilMs = { source: 0, target: 0 };

  constructor(lines: SimulatedLines, source: DialledEnd) {
    this.#lines = lines;
    this.#source = source;
  }

  connect(address: string, accept: ((line: AcceptedLine) => LineEnd) | undefined, channel: string): void {
    if (this.#isClosed) return;
    if (accept === undefined) {
      this.#isClosed = true;
      this.#source.closed(new UnavailableError('UNREACHABLE', `no process listens at ${address}`));
      return;
    }
    this.#lines.open.add(this);
    this.#target = accept({
      ...{ channel, remote: 'the source' },
      send: (frame) => this.#send('target', frame),
      close: (why, lastWords) => this.#close('target', why, lastWords),
      admit: () => {},
      refuses: () => undefined,
    });
    this.#source.opened({
      ...{ channel, remote: address },
      send: (frame) => this.#send('source', frame),
      close: (why) => this.#close('source', why),
    });
  }

  #send(from: 'source' | 'target', frame: Uint8Array): void {
    if (this.#isClosed) return;
    this.#lines.onFrame?.(from, frame);
    this.#deliver(from, frame.length, () => {
      if (!this.#isClosed) this.#endOf(from)?.received(frame);
    });
  }

  #deliver(from: 'source' | 'target', bytes: number, arrive: () => void): void {
    const { world, delayMs, bytesPerMs } = this.#lines;
    const beginsMs = Math.max(world.trueMs, this.#busyUntilMs[from]);
    this.#busyUntilMs[from] = beginsMs + bytes / bytesPerMs;
    world.at(this.#busyUntilMs[from] + delayMs, arrive);
  }

  /** The end that hears what this side says. */
  #endOf(from: 'source' | 'target'): LineEnd | undefined {
    return from === 'source' ? this.#target : this.#source;
  }

  #close(from: 'source' | 'target', _why: LeaseholdError, lastWords?: Uint8Array): void {
    if (this.#isClosed) return;
    if (lastWords !== undefined) this.#send(from, lastWords);
    const end = this.#endOf(from);
    // What was sent before arrives before; this side hears nothing any more.
    this.#deliver(from, 0, () => {
      if (this.#isClosed) return;
      this.#over();
      end?.closed(new UnavailableError('UNREACHABLE', 'the peer closed it'));
    });
  }

  cut(): void {
    if (this.#isClosed) return;
    this.#over();
    const why = new UnavailableError('UNREACHABLE', 'it was cut');
    this.#source.closed(why);
    this.#target?.closed(why);
  }

  #over(): void {
    this.#isClosed = true;
    this.#lines.open.delete(this);
  }

  /** The source gives it up. */
  [Symbol.dispose](): void {
    this.#close('source', new UnavailableError('UNREACHABLE', 'the source closed it'));
    if (this.#target === undefined) this.#isClosed = true;
  }
}
