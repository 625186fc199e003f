/**
 * How much of a shared limit this process wants, as one number (rule S1). The numbers of all members are compared with each other, so a
 * unit does not matter.
 *
 *  - `arrivals`: the tokens asked for, allowed or not. For requests, which do not slow down when they are denied.
 *  - `keys`: the keys that asked for tokens. Every key counts the same.
 *  - `flows`: the paper's flow proportional share, for senders that slow down when they are denied (TCP). A process that denies tokens
 *    counts its level in units of its fastest flow, so greedy flows count equally everywhere. A process that denies none asks for 1.1 times its
 *    rate at the present price of a credit.
 *
 * A process without traffic keeps a thousandth of the mean demand, so that its first requests find something.
 */

export type DemandKind = 'arrivals' | 'keys' | 'flows';

/** The weight of the newest epoch. */
const SMOOTHING = 0.3;
/** Flows send in bursts of several epochs; their rates are smoothed for longer. */
const FLOW_SMOOTHING = 0.1;
/** More than the rate, so that a process whose traffic grows is not denied first. */
const HEADROOM = 1.1;
const FLOOR_OF_MEAN = 0.001;
const LEAST = 1e-6;
/** The flows whose rates are known; further ones are not sampled. */
const FLOWS_MAX = 1_000;
const FLOW_FORGOTTEN_BELOW = 1e-9;

export interface EpochFacts {
  readonly elapsedMs: number;
  /** The level of this process, in tokens a millisecond. */
  readonly tokensPerMs: number;
  /** The mean demand of the members, as far as known. */
  readonly mean: number;
}

interface Flow {
  /** Tokens allowed in this epoch. */
  allowed: number;
  ratePerMs: number;
  isActive: boolean;
}

export class Demand {
  readonly #kind: DemandKind;
  readonly #flows = new Map<string, Flow>();
  #offered = 0;
  #allowed = 0;
  #denied = 0;
  #value = LEAST;

  constructor(kind: DemandKind) {
    this.#kind = kind;
  }

  get value(): number {
    return this.#value;
  }

  /** A request was decided. */
  count(key: string, tokens: number, isAllowed: boolean): void {
    this.#offered += tokens;
    if (isAllowed) this.#allowed += tokens;
    else this.#denied += tokens;
    if (this.#kind === 'arrivals') return;
    let flow = this.#flows.get(key);
    if (flow === undefined) {
      if (this.#flows.size >= FLOWS_MAX) return;
      flow = { allowed: 0, ratePerMs: 0, isActive: true };
      this.#flows.set(key, flow);
    }
    flow.isActive = true;
    if (isAllowed) flow.allowed += tokens;
  }

  epoch(facts: EpochFacts): number {
    const newest = this.#newest(facts);
    this.#value += SMOOTHING * (newest - this.#value);
    this.#value = Math.max(this.#value, LEAST, facts.mean * FLOOR_OF_MEAN);
    this.#offered = this.#allowed = this.#denied = 0;
    return this.#value;
  }

  #newest({ elapsedMs, tokensPerMs }: EpochFacts): number {
    if (this.#kind === 'arrivals') return (1_000 * this.#offered) / elapsedMs;
    const { active, fastestPerMs } = this.#turnFlows(elapsedMs);
    if (this.#kind === 'keys') return active;
    if (this.#denied > 0) return fastestPerMs > 0 ? tokensPerMs / fastestPerMs : active;
    if (tokensPerMs <= 0) return this.#value;
    return (this.#value * HEADROOM * this.#allowed) / elapsedMs / tokensPerMs;
  }

  #turnFlows(elapsedMs: number): { active: number; fastestPerMs: number } {
    let [active, fastestPerMs] = [0, 0];
    for (const [key, flow] of this.#flows) {
      if (flow.isActive) active += 1;
      flow.ratePerMs += FLOW_SMOOTHING * (flow.allowed / elapsedMs - flow.ratePerMs);
      fastestPerMs = Math.max(fastestPerMs, flow.ratePerMs);
      const isGone = !flow.isActive && (this.#kind === 'keys' || flow.ratePerMs < FLOW_FORGOTTEN_BELOW);
      if (isGone) this.#flows.delete(key);
      flow.allowed = 0;
      flow.isActive = false;
    }
    return { active, fastestPerMs };
  }
}
