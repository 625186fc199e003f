/** What happens to a replica, for `events()` and `/v1/events`: told when what it is, or whom it knows, has changed. */

import { HandleEvents } from '../../node/service/handle-events.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Member } from '../core/configuration.ts';
import { nameOf } from '../core/founding.ts';
import { type ReplicaRole, roleOf } from './replica-status.ts';
import type { ReplicaHost } from './replica-host.ts';

const NONE: readonly Member[] = [];

export class ReplicaEvents extends HandleEvents<'quorum'> {
  #role: ReplicaRole = 'gathering';
  #leader: string | undefined;
  #members = NONE;
  #isDiskFull = false;

  /** @param process drawn by this process */
  constructor(process: string, cell: string, runtime: Pick<Runtime, 'wallMs'>) {
    super(process, cell, runtime);
  }

  /** After every input. */
  look(host: ReplicaHost | undefined): void {
    const replica = host?.replica;
    const { leader } = replica ?? {};
    const role = roleOf(host);
    const members = replica?.view.log.newestConfiguration.members ?? this.#members;
    const isDiskFull = host?.isDiskFull ?? false;
    if (role !== this.#role) this.tell('quorum.role', { role, before: this.#role });
    if (leader !== this.#leader) this.tell('quorum.leader', { leader: leader && nameOf(leader) });
    if (members !== this.#members && !isSame(members, this.#members))
      this.tell('quorum.members', { members: members.map(({ storage }) => nameOf(storage)) });
    if (isDiskFull !== this.#isDiskFull) this.tell(isDiskFull ? 'quorum.disk-full' : 'quorum.disk-has-room');
    this.#role = role;
    this.#leader = leader;
    this.#members = members;
    this.#isDiskFull = isDiskFull;
  }

  failed({ code, message }: LeaseholdError): void {
    this.tell('quorum.failed', { code, message });
  }
}

const isSame = (one: readonly Member[], other: readonly Member[]): boolean =>
  one.length === other.length && one.every(({ storage }, at) => storage === other[at]?.storage);
