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

export class Deaths {
  readonly #keepMs: () => number;
  /** By digest of the secret. */
  readonly #proofs = new Map<string, { readonly forgetAt: Instant; readonly tell: Set<string> }>();

  constructor(keepMs: () => number) {
    this.#keepMs = keepMs;
  }

  has(proof: string): boolean {
    return this.#proofs.has(proof);
  }

  /** Takes note; returns the digest. */
  hear(secret: string, from: string, now: Instant): string {
    const proof = digest(secret);
    const tell = this.#proofs.get(proof)?.tell ?? new Set<string>();
    this.#proofs.set(proof, { forgetAt: later(now, this.#keepMs()), tell: tell.add(from) });
    return proof;
  }

  forget(now: Instant): void {
    for (const [proof, { forgetAt }] of this.#proofs) if (forgetAt <= now) this.#proofs.delete(proof);
  }

  /** Whom to tell that a death has taken effect, once each. */
  confirm(isMember: (proof: string) => boolean): { readonly to: string; readonly proof: string }[] {
    const told: { to: string; proof: string }[] = [];
    for (const [proof, { tell }] of this.#proofs) {
      if (tell.size === 0 || isMember(proof)) continue;
      for (const to of tell) told.push({ to, proof });
      tell.clear();
    }
    return told;
  }
}
