/**
 * Which messages reach the Manager's core: a function of the proofs of a connection, and of the message.
 *
 * A report passes if its incarnation was proved on the same connection, for the same pool (`../incarnation.ts`). Whatever
 * else an owner's report could do to keys, it then does to that owner's own. Probes, syncs and certificates pass: probes and
 * syncs change nothing, the position that a sync claims to have seen needs a stamp (`stamps.ts`), and a certificate shows a secret.
 *
 * Where processes have tokens, a second gate stands before this one (`may`): may a process with that token say this at all? The decision comes in as a
 * function, because this core knows no certificates.
 *
 * A refused message has no effect. Its sender is told `NOT_ALLOWED`, and the connection ends.
 */

import { type LeaseholdError, RefusedError } from '../../../runtime/errors.ts';
import type { Transport } from '../../../runtime/runtime.ts';
import type { Verifier } from '../../../runtime/signing.ts';
import { isProof } from '../incarnation.ts';
import type { FromManager, Prove, Refused, Report, ToGate, ToManager } from '../messages.ts';

/** One process may be an owner in several pools, over one connection. */
const MOST_INCARNATIONS = 4;

export type Ruling =
  | { readonly do: 'pass'; readonly message: ToManager }
  | { readonly do: 'remember'; readonly proved: string }
  | { readonly do: 'refuse'; readonly refused: Refused };

/** The name of a connection, and the proofs it has given. */
export interface Standing {
  readonly channel: string;
  readonly proved: ReadonlySet<string>;
}

export function ruleOn(message: ToGate, { channel, proved }: Standing, verifier: Verifier): Ruling {
  switch (message.kind) {
    case 'prove': {
      const name = nameOf(message);
      if (proved.has(name)) return { do: 'remember', proved: name };
      if (proved.size >= MOST_INCARNATIONS)
        return refuse(message, `more than ${MOST_INCARNATIONS} incarnations on one connection`);
      if (!isProof(message, channel, verifier))
        return refuse(message, 'the signature does not prove this incarnation on this connection');
      return { do: 'remember', proved: name };
    }
    case 'report':
      if (proved.has(nameOf(message))) return { do: 'pass', message };
      return refuse(message, 'this incarnation was not proved on this connection before its first report');
    case 'sync':
    case 'certificate':
    case 'probe':
      return { do: 'pass', message };
  }
}

const nameOf = ({ pool, incarnation }: Prove | Report): string => JSON.stringify([pool, incarnation]);

const refuse = (message: ToGate, why: string): Extract<Ruling, { readonly do: 'refuse' }> => ({
  do: 'refuse',
  refused: {
    ...{ kind: 'refused', ...askerOf(message), code: 'NOT_ALLOWED', retryable: false },
    message: `this ${message.kind} is not allowed: ${why}`,
  },
});

/** Of a message that names none. */
const NONE = '*';

/** Whom a refusal means, as far as the message says. */
function askerOf(message: ToGate): { readonly pool: string; readonly asker: string } {
  if (message.kind === 'certificate') return { pool: NONE, asker: NONE };
  if (message.kind === 'probe') return { pool: NONE, asker: message.asker };
  return { pool: message.pool, asker: message.kind === 'sync' ? message.lookup : message.incarnation };
}

/** A peer sent a message that it may not send, and loses its connection. */
const notAllowed = (message: string): RefusedError =>
  new RefusedError('NOT_ALLOWED', message, { module: 'manager' });

/** Connections, as far as the gate needs them. */
export interface Lines extends Transport<FromManager, ToGate> {
  /** An object that lives as long as the connection; undefined if it has ended. */
  peer(from: string): { readonly channel: string } | undefined;
  /** Says this, and ends the connection. */
  dismiss(from: string, why: LeaseholdError, lastWords: FromManager): void;
}

/** Why the peer of this connection may not say this, by its token; undefined if it may. */
export type May = (from: string, message: ToGate) => { readonly message: string } | undefined;

/** The same connections with the gate before the listener. */
export function gated(
  lines: Lines,
  verifier: Verifier,
  may: May = () => undefined,
): Transport<FromManager, ToManager> {
  const proofs = new WeakMap<object, Set<string>>();
  return {
    send: (to, message) => lines.send(to, message),
    listen: (callback) =>
      lines.listen((from, message) => {
        const peer = lines.peer(from);
        if (peer === undefined) return;
        const proved = proofs.get(peer) ?? new Set<string>();
        proofs.set(peer, proved);
        const why = may(from, message)?.message;
        const ruling =
          why === undefined
            ? ruleOn(message, { channel: peer.channel, proved }, verifier)
            : refuse(message, why);
        if (ruling.do === 'pass') callback(from, ruling.message);
        else if (ruling.do === 'remember') proved.add(ruling.proved);
        else lines.dismiss(from, notAllowed(ruling.refused.message), ruling.refused);
      }),
  };
}
