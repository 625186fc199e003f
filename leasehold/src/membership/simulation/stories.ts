/**
 * Worlds that play one story again and again, each against one rule that is hardly ever needed by chance.
 *
 *  - `unheard-change`: m and p act in a view. q comes within reach of m; m proposes a set with q, and then one without p, and neither p nor q hears of that for a while. If m confirmed the last view to p meanwhile,
 *    p would act on promises that are younger than the hold in m's proposal.
 *  - `two-suspensions`: s and a client of s are each suspended for less than the tolerance, on the slowest clocks, while m, on the fastest, has promised s something and goes on alone.
 *  - `first-views-lost`: of each view, the first frame to each client is lost, also in the calm. Clients go from server to server, so there are new views all the time.
 *  - `unacknowledged`: with a registry, s hands m a message, and is suspended before the acknowledgement is there. The new incarnation of s has no view until it is registered again, and reaches m before.
 */

import type { Random } from '../../sim/random.ts';
import type { Story } from './drawn-world.ts';
import type { GroupWorld } from './group-world.ts';

/** Shorter than the tolerance, so that nobody notices. */
const UNNOTICED_MS = 95;

export class Stories {
  readonly #group: GroupWorld;
  readonly #random: Random;

  constructor(group: GroupWorld, random: Random) {
    this.#group = group;
    this.#random = random;
  }

  begin(story: Story): void {
    const { world } = this.#group;
    const plays: Readonly<Record<Story, () => void>> = {
      'unheard-change': () => this.#changeUnheard(),
      'two-suspensions': () => this.#suspendTwo(),
      'first-views-lost': () => this.#moveClient(),
      unacknowledged: () => this.#suspendSender(),
    };
    if (story === 'unheard-change') this.#partOne();
    if (story === 'two-suspensions') this.#keepClientAtSlowest();
    if (story === 'first-views-lost') for (const server of this.#group.servers) server.losesFirstViews = true;
    world.every([7_000, 8_000], () => this.#unlessCalm(plays[story]));
  }

  /** The servers m and p on one side, and q on the other. */
  #partOne(): void {
    this.#group.network.partition([['s0', 's1'], ['s2']]);
  }

  #changeUnheard(): void {
    const { network, servers } = this.#group;
    const [m] = servers;
    if (m === undefined || m.standing() !== 'acts') return;
    this.#group.world.count('stories');
    m.losesLargeMessages = true;
    network.heal();
    network.cutBoth('s1', 's2');
    const heardMs = this.#random.between(900, 1_600);
    this.#after(heardMs, () => m.report('s1'));
    this.#after(heardMs + this.#random.between(500, 1_100), () => {
      network.cutBoth('s0', 's1');
      m.losesLargeMessages = false;
    });
    this.#after(5_000, () => this.#partOne());
  }

  #suspendTwo(): void {
    const { network, servers, clients } = this.#group;
    const [m, s] = servers;
    const [client] = clients;
    if (m === undefined || s === undefined || client?.core?.server !== s.name) return;
    if (client.standing() !== 'acts' || s.member?.view?.members.length !== 2) return;
    this.#group.world.count('stories');
    s.suspend(UNNOTICED_MS);
    network.cutBoth(m.name, s.name);
    m.report(s.name);
    this.#after(this.#random.between(650, 900), () => network.cutBoth(client.name, s.name));
    this.#after(1_000, () => client.suspend(UNNOTICED_MS));
    this.#after(4_000, () => this.#keepClientAtSlowest());
  }

  #keepClientAtSlowest(): void {
    this.#group.network.heal();
    this.#group.network.cutBoth('c0', 's0');
  }

  #moveClient(): void {
    const client = this.#random.pick(this.#group.clients);
    const own = client.core?.server;
    if (own === undefined || client.standing() !== 'acts') return;
    this.#group.world.count('stories');
    client.losesConnection(own);
  }

  #suspendSender(): void {
    const { network, servers } = this.#group;
    const [m, s] = this.#random.shuffle([...servers]);
    if (m === undefined || s?.standing() !== 'acts' || m.standing() !== 'acts') return;
    this.#group.world.count('stories');
    network.cut(m.name, s.name);
    this.#group.write(s, m.name);
    this.#after(this.#random.between(30, 200), () => {
      s.suspend(this.#random.between(110, 400));
      network.heal();
    });
  }

  #after(ms: number, act: () => void): void {
    this.#group.world.after(ms, () => this.#unlessCalm(act));
  }

  #unlessCalm(act: () => void): void {
    const { world, drawn } = this.#group;
    if (world.trueMs < drawn.chaosMs) act();
  }
}
