/**
 * Deaths that were proved: a supervisor has reaped a process and shows the secret that only it and
 * that process knew. Members carry the digest of the secret, so a proof covers every incarnation
 * of that process and nobody else's.
 *
 * A proof is kept for one hold, because a report of the dead may still be on its way and must not
 * make it a member once more; and those who brought the proof are told when it has taken effect.
 */

import { digest } from '../../runtime/digest.ts';
import { type Instant, later } from '../../runtime/time.ts';

/** Whoever sends more than that in a hold loses the oldest: its leases then end by themselves. */
const MOST_PROOFS = 10_000;

export class Deaths {
  readonly #keepMs: () => number;
  /** By digest of the secret. */
  readonly #proofs = new Map<string, Instant>();
  /** Who waits to hear that a death has taken effect, by proof. */
  readonly #untold = new Map<string, Set<string>>();

  constructor(keepMs: () => number) {
    this.#keepMs = keepMs;
  }

  has(proof: string): boolean {
    return this.#proofs.has(proof);
  }

  /** Takes note; returns the digest. */
  hear(secret: string, from: string, now: Instant): string {
    const proof = digest(secret);
    this.#proofs.delete(proof); // The latest comes last.
    this.#proofs.set(proof, later(now, this.#keepMs()));
    this.#untold.set(proof, (this.#untold.get(proof) ?? new Set<string>()).add(from));
    for (const oldest of this.#proofs.keys()) {
      if (this.#proofs.size <= MOST_PROOFS) break;
      this.#drop(oldest);
    }
    return proof;
  }

  forget(now: Instant): void {
    for (const [proof, forgetAt] of this.#proofs) if (forgetAt <= now) this.#drop(proof);
  }

  /** Whom to tell that a death has taken effect, once each. */
  confirm(isMember: (proof: string) => boolean): { readonly to: string; readonly proof: string }[] {
    const told: { to: string; proof: string }[] = [];
    for (const [proof, waiting] of this.#untold) {
      if (isMember(proof)) continue;
      for (const to of waiting) told.push({ to, proof });
      this.#untold.delete(proof);
    }
    return told;
  }

  #drop(proof: string): void {
    this.#proofs.delete(proof);
    this.#untold.delete(proof);
  }
}
