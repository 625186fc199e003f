/**
 * For tests only: what the Managers of a script answer to probes. Unless the script has a line "roles", each of them answers at
 * once that it leads nothing. `roles m1=x m2=y.2` answers the last probe: m1 leads the history x in term 1, m2 leads y in term 2;
 * `m1=-` leads nothing, and a Manager that is not named does not answer. A hold lasts 10980 ms.
 */

import type { Instant } from '../../runtime/time.ts';
import type { Role, ToManager } from './messages.ts';

interface Asking<Effect> {
  hearRole(from: string, role: Role, now: Instant): Effect[];
}

type Sending = { readonly do: 'send'; readonly to: string; readonly message: ToManager };

export class ScriptedRoles {
  readonly #isScripted: boolean;
  #last: { readonly asker: string; readonly round: number } | undefined;

  constructor(script: string) {
    this.#isScripted = /^\s*\d+\s+roles\b/m.test(script);
  }

  /** The effects without the probes, and those of the answers. */
  after<Effect extends { readonly do: string }>(
    effects: readonly (Effect | Sending)[],
    core: Asking<Effect>,
    now: Instant,
  ): Effect[] {
    const others: Effect[] = [];
    for (const effect of effects) {
      const probe = 'message' in effect && effect.message.kind === 'probe' ? effect.message : undefined;
      if (probe === undefined) others.push(effect as Effect);
      else if (this.#isScripted) this.#last = probe;
      else
        others.push(
          ...core.hearRole((effect as Sending).to, { ...probe, kind: 'role', leads: undefined }, now),
        );
    }
    return others;
  }

  answer<Effect>(core: Asking<Effect>, words: readonly string[], now: Instant): Effect[] {
    const { asker, round } = this.#last ?? { asker: '', round: 0 };
    return words.flatMap((word) => {
      const [manager = '', led = '-'] = word.split('=');
      const [history = '', term = '1'] = led.split('.');
      const leader = { leader: manager, holdMs: 10_980, isLogShared: false };
      const leads = led === '-' ? undefined : { history, term: Number(term), ...leader };
      return core.hearRole(manager, { kind: 'role', asker, round, leads }, now);
    });
  }
}
