/**
 * Keys and connections in a simulated world: cheap, and readable in a story.
 *
 * A public key is the name of its incarnation, a signature the hash of a secret that only the signer of that incarnation
 * uses, and of what was signed. The verifier knows all secrets, which is its own business; a forger calls no signer but its
 * own.
 *
 * The simulated network loses single messages, a connection loses all or nothing: an owner's proof always comes before its
 * first report. So proofs are kept here, and a Manager hears that of a connection before the first message on it. Each
 * incarnation of an owner has a connection of its own to each incarnation of a Manager.
 */

import { digest } from '../../runtime/digest.ts';
import type { Transport } from '../../runtime/runtime.ts';
import type { Signer, Verifier } from '../../runtime/signing.ts';
import { prove } from '../core/incarnation.ts';
import { gated, type Lines } from '../core/manager/gate.ts';
import type { FromManager, Prove, ToGate, ToManager } from '../core/messages.ts';

const signatureOf = (key: string, bytes: Uint8Array): string =>
  digest(`the secret of ${key} ${Buffer.from(bytes).toString('latin1')}`);

export const simulatedSigner = (incarnation: string): Signer => ({
  incarnation,
  key: incarnation,
  sign: (bytes) => signatureOf(incarnation, bytes),
});

export const simulatedVerifier: Verifier = {
  incarnationOf: (key) => key,
  isSigned: (key, bytes, signature) => signature === signatureOf(key, bytes),
};

export class Channels {
  readonly #lives = new Map<string, number>();
  readonly #proofs = new Map<string, Prove>();

  /** A new incarnation of a Manager begins: all its connections are new. */
  began(manager: string, incarnation: number): void {
    this.#lives.set(manager, incarnation);
  }

  /** What the present incarnation of a Manager says in its welcome to somebody. */
  channel(manager: string, from: string): string {
    return `${from} to ${manager}.${this.#lives.get(manager) ?? 0}`;
  }

  /** An owner that is about to report has proved its incarnation on that connection. */
  connect(from: string, manager: string, pool: string, incarnation: string): void {
    const channel = this.channel(manager, from);
    const name = `${channel} ${incarnation}`;
    if (this.#proofs.has(name)) return;
    this.#proofs.set(name, prove(simulatedSigner(incarnation), pool, channel));
  }

  /** What was proved, or only claimed, on a connection to the present incarnation of a Manager. */
  proof(from: string, manager: string, incarnation: string): Prove | undefined {
    return this.#proofs.get(`${this.channel(manager, from)} ${incarnation}`);
  }

  /** Somebody says a proof on its own connection that may have been made for another. */
  say(from: string, manager: string, proof: Prove): void {
    this.#proofs.set(`${this.channel(manager, from)} ${proof.incarnation}`, proof);
  }
}

/** The gate of a Manager's present incarnation, before what reaches it over the network. */
export function simulatedGate(
  manager: string,
  channels: Channels,
  transport: Transport<FromManager, ToManager>,
): Transport<FromManager, ToManager> {
  const peers = new Map<string, { readonly channel: string }>();
  let speaking: { readonly channel: string } | undefined;
  const lines: Lines = {
    send: (to, message) => transport.send(to, message),
    listen: (callback: (from: string, message: ToGate) => void) =>
      transport.listen((from, message) => {
        const incarnation = message.kind === 'report' ? message.incarnation : '';
        const name = `${from} ${incarnation}`;
        speaking = peers.get(name);
        const proof = channels.proof(from, manager, incarnation);
        if (speaking === undefined) {
          speaking = { channel: channels.channel(manager, from) };
          if (message.kind !== 'report' || proof !== undefined) peers.set(name, speaking);
          if (proof !== undefined) callback(from, proof);
        }
        callback(from, message);
      }),
    peer: () => speaking,
    dismiss: (to, _why, lastWords) => transport.send(to, lastWords),
  };
  return gated(lines, simulatedVerifier);
}
