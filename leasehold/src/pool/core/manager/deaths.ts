/**
 * Deaths that were proved: a supervisor has reaped a process and shows the secret that only it and
 * that process knew. Members carry the digest of the secret, so a proof covers every incarnation
 * of that process and nobody else's.
 *
 * A proof for a process that is not a member may have come early, or be mere noise. So there are limits for one connection
 * and in sum; beyond them the oldest is dropped of the connection that has brought the most. That costs no safety: the
 * leases of that process end by themselves.
 *
 * A proof is kept for one hold, because a report of the dead may still be on its way and must not
 * make it a member once more; and the connections that brought the proof are told when it has taken effect.
 */

import { digest } from '../../../runtime/digest.ts';
import { type Instant, later } from '../../../runtime/time.ts';

export interface DeathLimits {
  /** Of processes that are not members, in sum and from one connection. */
  readonly certificates: number;
  readonly certificatesPerConnection: number;
}

export class Deaths {
  readonly #keepMs: () => number;
  readonly #limits: () => DeathLimits;
  /** Proofs of unknown processes, by the connection that has brought them, the oldest first. */
  readonly #unknown = new Map<string, Set<string>>();
  #unknowns = 0;
  /** By digest of the secret. */
  readonly #proofs = new Map<string, Instant>();
  /** The connections that wait to hear that a death has taken effect, by proof. */
  readonly #untold = new Map<string, Set<string>>();

  constructor(keepMs: () => number, limits: () => DeathLimits) {
    this.#keepMs = keepMs;
    this.#limits = limits;
  }

  has(proof: string): boolean {
    return this.#proofs.has(proof);
  }

  /** Takes note; returns the digest. */
  hear(secret: string, from: string, now: Instant, isKnown: (proof: string) => boolean): string {
    const proof = digest(secret);
    const isNoted = this.#proofs.has(proof);
    this.#proofs.delete(proof); // The latest comes last.
    this.#proofs.set(proof, later(now, this.#keepMs()));
    this.#untold.set(proof, (this.#untold.get(proof) ?? new Set<string>()).add(from));
    if (!isNoted && !isKnown(proof)) this.#noteUnknown(proof, from);
    return proof;
  }

  forget(now: Instant): void {
    for (const [proof, forgetAt] of this.#proofs) if (forgetAt <= now) this.#drop(proof);
  }

  /** The connections to tell that a death has taken effect, once each. */
  confirm(isMember: (proof: string) => boolean): { readonly to: string; readonly proof: string }[] {
    const told: { to: string; proof: string }[] = [];
    for (const [proof, waiting] of this.#untold) {
      if (isMember(proof)) continue;
      for (const to of waiting) told.push({ to, proof });
      this.#untold.delete(proof);
    }
    return told;
  }

  #noteUnknown(proof: string, from: string): void {
    const { certificates, certificatesPerConnection } = this.#limits();
    let brought = this.#unknown.get(from);
    if (brought === undefined) this.#unknown.set(from, (brought = new Set()));
    brought.add(proof);
    this.#unknowns += 1;
    if (brought.size > certificatesPerConnection) this.#dropOldest(brought);
    if (this.#unknowns > certificates) this.#dropOldest(this.#busiest());
  }

  #busiest(): ReadonlySet<string> {
    let busiest: ReadonlySet<string> = new Set();
    for (const brought of this.#unknown.values()) if (brought.size > busiest.size) busiest = brought;
    return busiest;
  }

  #dropOldest(brought: ReadonlySet<string>): void {
    const oldest = brought.values().next().value;
    if (oldest !== undefined) this.#drop(oldest);
  }

  #drop(proof: string): void {
    for (const [from, brought] of this.#unknown) {
      if (!brought.delete(proof)) continue;
      this.#unknowns -= 1;
      if (brought.size === 0) this.#unknown.delete(from);
      break;
    }
    this.#proofs.delete(proof);
    this.#untold.delete(proof);
  }
}
