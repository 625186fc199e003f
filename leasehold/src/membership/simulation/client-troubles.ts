/**
 * Worlds in which servers are well and clients are not. Each world draws two of these troubles and plays them again and again, because what breaks a rule of clients is most often one
 * trouble right after another:
 *
 *  - `lost-at-the-server`: a connection breaks, and only the server notices. The client acts on, and says the same attachment again.
 *  - `two-processes`: a second process starts under the name of a client, is attached to the same server or to another one, and ends.
 *  - `moved`: the servers are parted one by one, and the connection of a client breaks, so that the client goes to another part.
 *  - `moved-and-suspended`: the same, and the machine of the client is suspended right after.
 *  - `unheard`: a client hears nothing, and is heard.
 */

import type { Random } from '../../sim/random.ts';
import type { ClientProcess } from './client.ts';
import { SECOND } from './drawn-world.ts';
import type { GroupWorld } from './group-world.ts';

const TROUBLES = ['lost-at-the-server', 'two-processes', 'moved', 'moved-and-suspended', 'unheard'] as const;

type Trouble = (typeof TROUBLES)[number];

export class ClientTroubles {
  readonly #group: GroupWorld;
  readonly #random: Random;

  constructor(group: GroupWorld, random: Random) {
    this.#group = group;
    this.#random = random;
  }

  begin(): void {
    const drawn = this.#random.shuffle([...TROUBLES]).slice(0, 2);
    this.#group.world.every([500, 1_800], () =>
      this.#unlessCalm(() => this.#play(this.#random.pick(drawn), this.#random.pick(this.#group.clients))),
    );
    this.#group.world.every([5_000, 9_000], () => this.#unlessCalm(() => this.#group.network.heal()));
  }

  #play(trouble: Trouble, client: ClientProcess): void {
    const { network, world, servers } = this.#group;
    const own = client.core?.server;
    if (own === undefined) return;
    world.count('troubles of clients');
    const unheard = (): void => network.cut(own, client.name);
    const later = (low: number, high: number, act: () => void): void =>
      void world.after(this.#random.between(low, high), () => this.#unlessCalm(act));
    switch (trouble) {
      case 'lost-at-the-server':
        unheard();
        later(0, 400, () => {
          const server = servers.find(({ name }) => name === own);
          server?.perform((member, now) => member.clientBroke(client.name, now));
        });
        return;
      case 'two-processes': {
        const second = this.#group.clients.find(({ name }) => name === client.as + SECOND);
        if (second === undefined || second === client) return;
        if (this.#random.chance(0.7)) unheard();
        later(0, 300, () => this.#group.startClient(second));
        later(600, 2_500, () => (this.#random.chance(0.5) ? second.leave() : second.process.crash()));
        later(2_600, 2_700, () => second.process.crash());
        return;
      }
      case 'moved':
      case 'moved-and-suspended':
        network.partition(servers.map(({ name }) => [name]));
        later(0, 1_500, () => {
          network.cutBoth(client.name, own);
          client.losesConnection(own);
        });
        if (trouble === 'moved-and-suspended')
          later(1_500, 3_000, () => client.suspend(this.#random.between(110, 400)));
        return;
      case 'unheard':
        unheard();
        return;
    }
  }

  #unlessCalm(act: () => void): void {
    const { world, drawn } = this.#group;
    if (world.trueMs < drawn.chaosMs) act();
  }
}
