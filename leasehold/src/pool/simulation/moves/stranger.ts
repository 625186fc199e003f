/** A peer at the end of a simulated line that says what a test wants, and keeps what it hears. */

import type { LeaseholdError } from '../../../runtime/errors.ts';
import type { Signer } from '../../../runtime/signing.ts';
import { proveTransfer, type TransferFacts } from '../../core/moves/proof.ts';
import type { DialledEnd, Line, LineEnd } from '../../shell/moves/carriage.ts';
import { FrameDigest } from '../../shell/moves/frame-digest.ts';
import {
  decodeFromSource,
  decodeFromTarget,
  encodeFromSource,
  type FromSource,
  type FromTarget,
  type SourceHello,
} from '../../wire/transfer.ts';
import type { SimulatedLines } from './simulated-lines.ts';

/** Dials a target, and speaks as a source, well or badly. */
export class StrangeSource implements DialledEnd {
  readonly heard: FromTarget[] = [];
  readonly frames: FrameDigest = new FrameDigest();
  line: Line | undefined;
  isClosed = false;
  #hello: SourceHello | undefined;

  constructor(lines: SimulatedLines, to: string) {
    lines.carriage('stranger:1').dial(to, 'target', this);
  }

  opened(line: Line): void {
    this.line = line;
  }

  received(frame: Uint8Array): void {
    this.heard.push(decodeFromTarget(frame));
  }

  closed(_why: LeaseholdError): void {
    this.isClosed = true;
  }

  get kinds(): readonly string[] {
    return this.heard.map((message) => (message.kind === 'refused' ? message.code : message.kind));
  }

  hello(ticket: string, from: string, to: string, attempt: number = 1): void {
    this.#hello = { kind: 'hello', ticket, from, to, nonce: 'ab'.repeat(16), attempt };
    this.say(this.#hello);
  }

  /** Of the hello on this line; what is signed can be changed. */
  prove(signer: Signer, change: Partial<TransferFacts> = {}): void {
    const { ticket = '', from = '', to = '', nonce = '' } = this.#hello ?? {};
    const facts = { pool: 'presence', channel: this.line?.channel ?? '', ticket, from, to, nonce, ...change };
    this.say({ kind: 'proof', ...proveTransfer(signer, 'source', facts) });
  }

  say(message: FromSource): void {
    this.raw(encodeFromSource(message));
  }

  raw(frame: Uint8Array): void {
    this.line?.send(frame);
  }

  /** A frame with the next number, which counts. */
  frame(message: FromSource): void {
    const frame = encodeFromSource(message);
    this.frames.add(frame, message.kind === 'chunk' ? message.items : []);
    this.raw(frame);
  }
}

/** Listens at an address, and answers as a target, well or badly. */
export class StrangeTarget {
  readonly heard: FromSource[] = [];
  line: Line | undefined;
  /** Called with each message. */
  answer: (message: FromSource, line: Line) => void = () => {};

  constructor(lines: SimulatedLines, address: string) {
    lines.carriage(address).accept((line): LineEnd => {
      this.line = line;
      return {
        received: (frame) => {
          const message = decodeFromSource(frame);
          this.heard.push(message);
          this.answer(message, line);
        },
        closed: () => {},
      };
    });
  }
}
