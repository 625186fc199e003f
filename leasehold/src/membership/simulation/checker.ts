/**
 * Watches from outside, where all servers can be seen at one instant.
 *
 *  - **one-view-acts.** Two different views in which servers act at the same instant share no name.
 *  - **one-view.** With a registry: at most one view acts in the world, over all servers and clients.
 *  - **one-holder.** No shard is held by two servers at one instant (`core/shards.ts`), where the group has as many servers as it was told.
 *  - **counted-once.** For each of some keys, one server of a view has the right to the key (as the owner of a rate limit has). A server
 *    that acts uses its right on behalf of all members, a server that continues on behalf of the kept members. At no instant is
 *    a name counted by two servers for one key.
 *  - **agreement.** One id, one set of members, and every member has proposed this set.
 *  - **ids-grow.** At each server, every view has a greater id than the view before; at each process of a client, no lower one.
 *  - **self-inclusion.** A server is a member of every view delivered there.
 *  - **not-obsolete.** A delivered view is what the server's own records describe at that instant.
 *  - **fate-sharing.** A message that is reported as delivered was handed over. A message fails only with a new view or without one, and
 *    every message is settled within a stated time.
 *  - **clients-agree.** A client holds the view that servers delivered under this id: the same servers, the same clients, itself among them, no name
 *    twice.
 *  - **client-counted-once.** Views in which anybody acts at the same instant share no client.
 *  - **handed-over-once.** No message is handed over twice.
 *  - **in-one-view.** A message to or from a client is handed over in the view in which it was sent, and in no other.
 *  - **liveness.** See `calm.ts`.
 *  - **views-last.** See `stalls.ts`.
 *  - **comes-to-an-end.** Time goes on, which the world notices by the number of events, and no packet is passed on for ever.
 */

import type { SimulatedEtcd } from '../../etcd/simulation/simulated-etcd.ts';
import type { World } from '../../sim/world.ts';
import { type Durations, fateSharingMs } from '../core/durations.ts';
import type { MemberEffect, SendOutcome } from '../core/effects.ts';
import type { Attachment } from '../core/attachment.ts';
import { isSameIncarnation, keyOf, type MemberId, type Membership } from '../core/incarnation.ts';
import type { Packet, Payload, ServerRecord } from '../core/messages.ts';
import { ShardHolder } from '../core/shards.ts';
import type { MemberView } from '../core/view.ts';
import type { ClientEffect } from '../core/client.ts';
import type { ClientView } from '../core/view-difference.ts';
import type { ClientObserver, ClientProcess } from './client.ts';
import { RegistryTruth } from './registry-truth.ts';
import type { Observer, SentMessage, Server } from './server.ts';

export const PROMISES = [
  'one-view-acts',
  'one-view',
  'one-holder',
  'counted-once',
  'agreement',
  'ids-grow',
  'self-inclusion',
  'not-obsolete',
  'fate-sharing',
  'handed-over-once',
  'in-one-view',
  'clients-agree',
  'client-counted-once',
  'liveness',
  'views-last',
  'comes-to-an-end',
] as const;

/** Rights that one member of a view has. */
const KEYS = ['red', 'green', 'blue', 'white', 'black'];

/** A group of more servers than this is looked at once a millisecond, not after every event. The worlds of the simulation are smaller. */
const LARGE = 20;

const SHARDS = 8;

/** Eight hops, of which the network repeats some. */
const PASSED_ON_MAX = 50;

type Actor = Server | ClientProcess;

interface Sent {
  readonly sender: Actor;
  readonly incarnation: number;
  readonly to: string;
  /** With a client at one end or at both. */
  readonly isLetter: boolean;
  readonly text: string;
  readonly atMs: number;
}

export class Checker implements Observer, ClientObserver {
  readonly #world: World;
  readonly #servers: readonly Server[];
  readonly #clients: readonly ClientProcess[];
  /** The registry as it really was, if there is one. */
  readonly #truth: RegistryTruth | undefined;
  readonly #settledWithinMs: number;
  /** The servers that the group was told of. */
  readonly #maxServers: number;
  readonly #setOfId = new Map<string, string>();
  readonly #proposed = new Set<string>();
  readonly #lastView = new Map<Server, MemberView>();
  /** Of each process of a client. */
  readonly #lastViewOfClient = new Map<string, MemberView>();
  /** How often a packet with this payload was passed on. */
  readonly #passedOn = new WeakMap<Payload, number>();
  readonly #sent = new Map<string, Sent>();
  /** What was handed over, by sender and body, and to which server. */
  readonly #handedOver = new Set<string>();
  /** The view in which a letter was sent, by its text. */
  readonly #viewOfLetter = new Map<string, string>();
  /** The processes that delivered a view or lost it in the present input. */
  readonly #changedAtMs = new Map<Actor, number>();
  readonly #actedAtMs = new Map<Actor, number>();
  /** The views in which servers act at this instant, and of each name the view that claims it. */
  readonly #acting = new Map<string, MemberView>();
  readonly #viewsAt = new Map<string, number>();
  #lookedAtMs: number = Number.NEGATIVE_INFINITY;
  readonly #holders = new Map<Server, ShardHolder>();
  /** The view of an id, as a server delivered it. */
  readonly #viewOfId = new Map<string, MemberView>();

  constructor(
    world: World,
    actors: {
      readonly servers: readonly Server[];
      readonly clients: readonly ClientProcess[];
      readonly maxServers: number;
      /** Where servers are registered, if they are. */
      readonly etcd?: SimulatedEtcd | undefined;
    },
    durations: Durations,
    lateMs: number,
  ) {
    this.#world = world;
    this.#servers = actors.servers;
    this.#clients = actors.clients;
    this.#truth = actors.etcd && new RegistryTruth(actors.etcd);
    this.#maxServers = actors.maxServers;
    // By the slowest clock; and each of a few timers may be late.
    this.#settledWithinMs = 1.12 * (fateSharingMs(durations) + 4 * lateMs);
    world.afterEach(() => {
      // With 50 servers ten things happen in a millisecond, and each look asks all of them.
      if (actors.servers.length > LARGE && world.trueMs < this.#lookedAtMs + 1) return;
      this.#lookedAtMs = world.trueMs;
      this.#oneViewActs();
      this.#oneHolder();
    });
    world.every([100, 100], () => this.#allSettled());
  }

  #oneHolder(): void {
    if (this.#servers.length > this.#maxServers) return;
    const holderOf = new Map<number, string>();
    for (const server of this.#servers) {
      const { view } = server.member ?? {};
      const standing = server.standing();
      if (view === undefined || standing === 'none') continue;
      const members = view.members.map(({ name }) => name);
      for (const shard of this.#holderAt(server).held({ standing, view: { id: view.id, members } }).shards) {
        const other = holderOf.get(shard);
        holderOf.set(shard, server.name);
        if (other !== undefined)
          throw this.#world.broken('one-holder', `${other} and ${server.name} hold shard ${shard}`);
      }
    }
    if (holderOf.size > 0) this.#world.count('instants at which shards are held');
  }

  #holderAt(server: Server): ShardHolder {
    const known = this.#holders.get(server);
    if (known !== undefined) return known;
    const maxServers = this.#truth === undefined ? this.#maxServers : undefined;
    const holder = new ShardHolder(server.name, SHARDS, maxServers);
    this.#holders.set(server, holder);
    return holder;
  }

  actedAtMs(actor: Actor): number | undefined {
    return this.#actedAtMs.get(actor);
  }

  clientDoes(client: ClientProcess, effect: ClientEffect): void {
    const world = this.#world;
    if (effect.do === 'trace') {
      world.count(effect.event.what);
      world.note(client.name, effect.event);
    } else if (effect.do !== 'send' && effect.do !== 'hand-over' && effect.do !== 'settle-send') {
      world.count(`clients: ${effect.do}`);
      const facts = effect.do === 'deliver-view' ? { id: effect.view.id } : {};
      world.note(client.name, { what: effect.do, facts });
    }
    switch (effect.do) {
      case 'deliver-view':
        this.#changedAtMs.set(client, world.trueMs);
        this.#clientAgrees(client, effect.view);
        break;
      case 'no-view':
        this.#changedAtMs.set(client, world.trueMs);
        break;
      case 'hand-over':
        this.#handsOver(client, effect.from, effect.body);
        break;
      case 'settle-send':
        this.#settles(client, effect.id, effect.outcome);
        break;
    }
  }

  #clientAgrees(client: ClientProcess, view: ClientView): void {
    const known = this.#viewOfId.get(view.id);
    const text = (servers: readonly MemberId[], clients: readonly Attachment[]): string =>
      [...servers.map(keyOf), ...clients.map((each) => `${keyOf(each)}/${each.count}`)].join(' ');
    const [held, delivered] = [text(view.servers, view.clients), known && text(known.members, known.clients)];
    if (held !== delivered)
      throw this.#world.broken('clients-agree', `${client.name} holds {${held}}, and not {${delivered}}`);
    const names = [...view.servers, ...view.clients].map(({ name }) => name);
    if (!names.includes(client.as) || new Set(names).size < names.length)
      throw this.#world.broken('clients-agree', `${client.name} holds {${held}}: it is not in it once`);
    if (known !== undefined) this.#idsGrowAt(client, known);
  }

  /** A client may enter the same view again, and goes from server to server. */
  #idsGrowAt(client: ClientProcess, view: MemberView): void {
    const process = `${client.name}/${client.process.incarnation}`;
    const last = this.#lastViewOfClient.get(process);
    this.#lastViewOfClient.set(process, view);
    if (last !== undefined && last.id !== view.id && !isLater(view, last))
      throw this.#world.broken('ids-grow', `${client.name} delivers ${view.id} after ${last.id}`);
  }

  /** How many views were delivered at the server of this name, in all its lives. */
  viewsAt(name: string): number {
    return this.#viewsAt.get(name) ?? 0;
  }

  began(server: Server): void {
    this.#world.count('lives');
    this.#lastView.delete(server);
  }

  sent(sender: Actor, { id, to, viewId, body }: SentMessage): void {
    const { incarnation } = sender.process;
    const text = new TextDecoder().decode(body);
    const isLetter = 'as' in sender || this.#clients.some(({ as }) => as === to);
    if (isLetter) this.#viewOfLetter.set(text, viewId);
    this.#sent.set(`${sender.name}/${incarnation}/${id}`, {
      ...{ sender, incarnation, to, isLetter, text },
      atMs: this.#world.trueMs,
    });
    this.#world.count(isLetter ? 'letters sent' : 'messages sent');
  }

  does(server: Server, effect: MemberEffect): void {
    switch (effect.do) {
      case 'send':
        if (effect.message.kind === 'packet') this.#passesOn(server, effect.message);
        if (effect.message.kind !== 'records') break;
        for (const record of effect.message.records) if (record.name === server.name) this.#proposes(record);
        break;
      case 'deliver-view':
        this.#delivers(server, effect.view);
        break;
      case 'no-view':
        this.#world.count('times without a view');
        this.#changedAtMs.set(server, this.#world.trueMs);
        server.note('no-view');
        break;
      case 'hand-over':
        this.#handsOver(server, effect.from, effect.body);
        break;
      case 'hand-over-datagram':
        break;
      case 'settle-send':
        this.#settles(server, effect.id, effect.outcome);
        break;
      case 'start-change':
        server.note('start-change');
        break;
      case 'name-taken':
        this.#world.count('names taken');
        break;
      case 'clock-outside-the-bound':
        this.#world.count('heartbeats with a clock outside the bound');
        break;
      case 'trace':
        this.#world.count(effect.event.what);
        this.#world.note(server.name, effect.event);
        break;
    }
  }

  /** A packet that goes in circles ends after a few hops. The network may repeat it at some of these. */
  #passesOn(server: Server, { from, payload }: Packet): void {
    if (from.name === server.name) return;
    const times = (this.#passedOn.get(payload) ?? 0) + 1;
    this.#passedOn.set(payload, times);
    if (times > PASSED_ON_MAX)
      throw this.#world.broken('comes-to-an-end', `a packet of ${from.name} was passed on ${times} times`);
  }

  #proposes(record: ServerRecord): void {
    this.#proposed.add(`${keyOf(record)} proposes ${record.proposal.key}`);
  }

  #delivers(server: Server, view: MemberView): void {
    const { id, key, members } = view;
    const world = this.#world;
    world.count('views');
    this.#viewsAt.set(server.name, this.viewsAt(server.name) + 1);
    if (members.length > 1) world.count('views of several');
    this.#changedAtMs.set(server, world.trueMs);
    const names = members.map(({ name }) => name).join(' ');
    server.note('view', { id, members: names, kept: view.kept.map(({ name }) => name).join(' ') });
    const known = this.#setOfId.get(id);
    if (known !== undefined && known !== key)
      throw world.broken('agreement', `${id} is {${known}} and {${key}}`);
    this.#setOfId.set(id, key);
    this.#viewOfId.set(id, view);
    const self = server.member?.id;
    if (self === undefined || !members.some((each) => keyOf(each) === keyOf(self))) {
      throw world.broken('self-inclusion', `${server.name} delivers {${key}}`);
    }
    for (const member of members) {
      if (member.name === server.name || this.#proposed.has(`${keyOf(member)} proposes ${key}`)) continue;
      throw world.broken(
        'agreement',
        `${server.name} delivers {${key}}, which ${member.name} has not proposed`,
      );
    }
    const last = this.#lastView.get(server);
    this.#lastView.set(server, view);
    if (last !== undefined && !isLater(view, last))
      throw world.broken('ids-grow', `${server.name} delivers ${id} after ${last.id}`);
    this.#isNotObsolete(server, view);
  }

  /** Worked out apart from the core: over links that both sides list, and only where nobody is in conflict. */
  #isNotObsolete(server: Server, view: MemberView): void {
    const records = server.member?.records;
    if (records === undefined) return;
    if (this.#truth !== undefined) {
      const set = view.members.map(keyOf).join(' ');
      if (this.#truth.has(set)) return;
      throw this.#world.broken(
        'not-obsolete',
        `${server.name} delivers {${set}}, which was never registered`,
      );
    }
    const found = new Set([server.name]);
    for (const name of found) {
      const record = records.get(name)?.record;
      if (record === undefined || record.hasLeft) continue;
      if (record.cannotReach.length > 0) return;
      for (const link of record.links) {
        const other = records.get(link.name)?.record;
        if (other === undefined || other.hasLeft || !isSameIncarnation(other.incarnation, link.incarnation))
          continue;
        const isMutual = other.links.some(
          (back) => back.name === name && isSameIncarnation(back.incarnation, record.incarnation),
        );
        if (isMutual) found.add(link.name);
      }
    }
    const known = [...found].sort().join(' ');
    const delivered = view.members.map(({ name }) => name).join(' ');
    if (known !== delivered) {
      throw this.#world.broken(
        'not-obsolete',
        `${server.name} delivers {${delivered}} though it knows {${known}}`,
      );
    }
  }

  #oneViewActs(): void {
    const acting = this.#acting;
    acting.clear();
    let continues = 0;
    for (const server of this.#servers) {
      const standing = server.standing();
      if (standing === 'continues') continues += 1;
      const view = server.member?.view;
      if (standing !== 'acts' || view === undefined) continue;
      this.#actedAtMs.set(server, this.#world.trueMs);
      acting.set(view.key, view);
    }
    for (const client of this.#clients) {
      const id = client.core?.view?.id;
      const view = id === undefined || client.standing() !== 'acts' ? undefined : this.#viewOfId.get(id);
      if (view === undefined) continue;
      this.#world.count('instants at which a client acts');
      this.#actedAtMs.set(client, this.#world.trueMs);
      acting.set(view.key, view);
    }
    if (acting.size > 1) this.#areDisjoint(acting.values());
    if (acting.size > 1 && this.#truth !== undefined)
      throw this.#world.broken('one-view', `these act at once: {${[...acting.keys()].join('}, {')}}`);
    if (continues === 0) return;
    this.#world.count('instants at which a server continues');
    for (const key of KEYS) this.#countedOnce(key);
  }

  #areDisjoint(views: Iterable<MemberView>): void {
    const claims = new Map<string, string>();
    const claim = (name: string, key: string, promise: string): void => {
      const other = claims.get(name);
      claims.set(name, key);
      if (other === undefined) return;
      const detail = `one process acts in {${key}} while another acts in {${other}}, and both have ${name}`;
      throw this.#world.broken(promise, detail);
    };
    for (const { key, members, clients } of views) {
      for (const { name } of members) claim(name, key, 'one-view-acts');
      for (const client of clients) claim(keyOf(client), key, 'client-counted-once');
    }
  }

  #countedOnce(key: string): void {
    const counted = new Map<string, string>();
    for (const server of this.#servers) {
      for (const { name } of this.#countedBy(server, key)) {
        const by = counted.get(name);
        counted.set(name, server.name);
        if (by === undefined) continue;
        throw this.#world.broken(
          'counted-once',
          `${name} is counted by ${by} and by ${server.name} for ${key}`,
        );
      }
    }
  }

  #countedBy(server: Server, key: string): readonly MemberId[] {
    const { member } = server;
    const standing = server.standing();
    if (standing === 'none' || member?.view === undefined) return [];
    if (ownerOf(key, member.view) !== server.name) return [];
    if (standing === 'acts') return member.view.members;
    if (!member.chain.every((view) => ownerOf(key, view) === server.name)) return [];
    this.#world.count('rights continued');
    return member.view.kept;
  }

  #handsOver(receiver: Actor, from: MemberId, body: Uint8Array): void {
    const text = new TextDecoder().decode(body);
    const key = `${text} to ${receiver.name}/${receiver.process.incarnation}`;
    if (this.#handedOver.has(key)) {
      throw this.#world.broken(
        'handed-over-once',
        `${receiver.name} hands over ${text} of ${from.name} again`,
      );
    }
    this.#handedOver.add(key);
    this.#handedOver.add(`${text} to ${nameOf(receiver)}`);
    const [sentIn, present] = [this.#viewOfLetter.get(text), viewOf(receiver)?.id];
    this.#world.count(sentIn === undefined ? 'messages handed over' : 'letters handed over');
    if (sentIn !== undefined && sentIn !== present)
      throw this.#world.broken(
        'in-one-view',
        `${receiver.name} hands over ${text} of ${sentIn} in ${present}`,
      );
  }

  #settles(sender: Actor, id: number, outcome: SendOutcome): void {
    const key = `${sender.name}/${sender.process.incarnation}/${id}`;
    const sent = this.#sent.get(key);
    this.#sent.delete(key);
    this.#world.count(`${sent?.isLetter === true ? 'letters' : 'messages'} settled, ${outcome}`);
    if (sent === undefined) throw this.#world.broken('fate-sharing', `${key} is settled twice`);
    if (outcome === 'delivered') {
      if (this.#handedOver.has(`${sent.text} to ${sent.to}`)) return;
      throw this.#world.broken('fate-sharing', `${key} was not handed over to ${sent.to}`);
    }
    // A machine that was suspended has lost its view, and a server that leaves gives its view up.
    const hasView = viewOf(sender) !== undefined;
    if (sent.isLetter && outcome === 'unknown') return;
    if (hasView && this.#changedAtMs.get(sender) !== this.#world.trueMs) {
      throw this.#world.broken('fate-sharing', `${key} fails (${outcome}) while the view goes on`);
    }
  }

  #allSettled(): void {
    for (const [key, { sender, incarnation, to, atMs }] of this.#sent) {
      if (!sender.process.alive || sender.process.incarnation !== incarnation) this.#sent.delete(key);
      else if (this.#world.trueMs - Math.max(atMs, sender.stoppedUntilMs) > this.#settledWithinMs) {
        throw this.#world.broken('fate-sharing', `${key} to ${to} is not settled in time`);
      }
    }
  }
}

/** Under which the others know the process. */
const nameOf = (actor: Actor): string => ('as' in actor ? actor.as : actor.name);

const viewOf = (actor: Actor): { readonly id: string } | undefined =>
  'as' in actor ? actor.core?.view : actor.member?.view;

/** By the numbers, and as applications compare. */
const isLater = (view: MemberView, last: MemberView): boolean =>
  view.id > last.id &&
  (view.greatestNumber > last.greatestNumber ||
    (view.greatestNumber === last.greatestNumber && view.sumOfNumbers > last.sumOfNumbers));

/** The owners of the keys in a set, worked out once: they are asked for after every event. */
const ownersOf = new WeakMap<Membership, Map<string, string | undefined>>();

/** The member of a set that has the right to this key: the one with the highest weight. */
function ownerOf(key: string, set: Membership): string | undefined {
  const owners = ownersOf.get(set) ?? new Map<string, string | undefined>();
  ownersOf.set(set, owners);
  if (owners.has(key)) return owners.get(key);
  let owner: string | undefined;
  let highest = -1;
  for (const { name } of set.members) {
    const weight = weightOf(`${key}|${name}`);
    if (weight > highest) [owner, highest] = [name, weight];
  }
  owners.set(key, owner);
  return owner;
}

function weightOf(text: string): number {
  let hash = 2_166_136_261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 12)) >>> 0;
}
