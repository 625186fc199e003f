/**
 * One client of a group, without I/O: a process that does not listen, and is in views through one server at a time.
 *
 *                 answer, view                 no answer, connection broken, refused
 *     attaching ───────────────► attached ───────────────────────────────────────────► attaching, to the next server
 *
 * **Acting.** The server answers a stamp with the rest of the server's own lease on a view, and the client acts for that long, counted from when the stamp
 * was *sent* (`clients.ts` argues why that is safe). The client takes such an answer only for the view in hand, and takes views in the order of
 * their numbers, so a message that comes late or twice brings back nothing. The client gives up the lease before saying to hold the next view, and
 * before attaching to another server.
 *
 * **Being counted once.** The client may have moved to s2 because the server s1 is cut off, and not dead. Then s1 may act in a view that counts the client,
 * for a while ({@link ClientDurations.countedMs}), beside the view of s2. So the client remembers the servers that are *common* to all views that may
 * still count the client: those which the client said to hold since the last view that acted, and that view. Views that share a server never act at one time. So if
 * s2 is a common server, s2 may list the client at once, and every view that lists the client there contains s2. Otherwise the client
 * watches, uncounted, until no such view can act. When the client acts in a view, no earlier one can act any more, and the servers of that view are the common ones.
 *
 * A restarted client is another process and remembers nothing. The former process may be counted elsewhere for that long; nobody acts for that process.
 */

import type { Core } from '../../runtime/driver.ts';
import { instant, type Instant, later, latest } from '../../runtime/time.ts';
import { trace, type TraceEffect } from '../../runtime/trace.ts';
import { type Attachment, compareAttachments, isSameAttachment } from './attachment.ts';
import type { Durations } from './durations.ts';
import { compareIncarnations, type Incarnation, laterIncarnation } from './incarnation.ts';
import type { Answer, FromClient, Refusal, ToClient, ViewForClient } from './messages.ts';
import { Refutations } from './refutations.ts';
import { applyDifference, type ClientView } from './view-difference.ts';

export interface ClientSettings {
  readonly name: string;
  readonly incarnation: Incarnation;
  /** The names of the servers to attach to. */
  readonly servers: readonly string[];
  readonly durations: Durations;
  random(): number;
}

export type ClientEffect =
  | { readonly do: 'send'; readonly to: string; readonly message: FromClient }
  /** The present view counts no more: be careful. */
  | { readonly do: 'start-change' }
  | { readonly do: 'deliver-view'; readonly view: ClientView }
  | { readonly do: 'panic' }
  | { readonly do: 'name-taken'; readonly by: Attachment }
  | TraceEffect;

/** A server to which this client is attached, or wants to be. */
interface Server {
  readonly name: string;
  readonly id: Attachment;
  incarnation: Incarnation | undefined;
  /** The newest stamp of the server. */
  echo: Instant | undefined;
  /** The view that is held, and the number of that view at this server; 0 for none. */
  held: ClientView | undefined;
  number: number;
  /** When the newest stamp was sent that was answered, or the attachment began. */
  answeredAt: Instant;
  /** The servers that are in every view which this client held here since the last act; undefined if there was none with this client. */
  common: ReadonlySet<string> | undefined;
}

const NEVER: Instant = instant(Number.NEGATIVE_INFINITY);
/** The pause before another round doubles from this to a hundred times as long. */
const PAUSE_MS = 50;

export class Client implements Core<ClientEffect> {
  readonly #settings: ClientSettings;
  readonly #durations: Durations;
  #incarnation: Incarnation;
  #count = 0;
  #server: Server | undefined;
  #attachAt: Instant;
  #stampAt: Instant;
  #failures = 0;
  /** Servers are tried one after the other, so a server that works is found however many do not. */
  #turn: number;
  #state: 'changing' | 'in-view' | 'panicking' | 'left' = 'changing';
  #changingSince: Instant;
  #view: ClientView | undefined;
  #actsUntil: Instant = NEVER;
  /** The servers that are in every view in which an earlier server may count this client, until then; undefined if there is no such view. */
  #countedBefore: { readonly common: ReadonlySet<string>; readonly until: Instant } | undefined;
  readonly #refutations = new Refutations();
  #effects: ClientEffect[] = [];

  constructor(settings: ClientSettings, now: Instant) {
    this.#settings = settings;
    this.#durations = settings.durations;
    this.#incarnation = settings.incarnation;
    this.#turn = Math.floor(settings.random() * settings.servers.length);
    this.#attachAt = now;
    this.#stampAt = now;
    this.#changingSince = now;
  }

  get name(): string {
    return this.#settings.name;
  }

  /** The server to which this client is attached. */
  get server(): string | undefined {
    return this.#server?.incarnation === undefined ? undefined : this.#server.name;
  }

  get state(): 'changing' | 'in-view' | 'panicking' | 'left' {
    return this.#state;
  }

  /** The present view, or the last one during a change; undefined in panic. */
  get view(): ClientView | undefined {
    return this.#view;
  }

  get wakeAt(): Instant | undefined {
    if (this.#state === 'left') return undefined;
    return this.#server === undefined ? this.#attachAt : this.#stampAt;
  }

  /** Whether this client may act in its view at this instant. Ask before every use; the answer is good for no other instant. */
  standing(now: Instant): 'acts' | 'none' {
    return this.#state === 'in-view' && now < this.#actsUntil ? 'acts' : 'none';
  }

  wake(now: Instant): ClientEffect[] {
    if (this.#state === 'left') return this.#take();
    const { silentMs } = this.#durations.clients;
    const patienceMs = this.server === undefined ? (silentMs * 2) / 3 : silentMs;
    if (this.#server !== undefined && now - this.#server.answeredAt >= patienceMs) this.#detach(now);
    if (this.#server === undefined && now >= this.#attachAt) this.#attach(now);
    else if (this.#server !== undefined && now >= this.#stampAt) this.#sendStamp(this.#server, now);
    this.#panicIfLate(now);
    return this.#take();
  }

  receive(from: string, message: ToClient, now: Instant): ClientEffect[] {
    const server = this.#server;
    if (this.#state === 'left' || server?.name !== from || !isSameAttachment(message.client, server.id))
      return this.#take();
    const order =
      server.incarnation === undefined ? 0 : compareIncarnations(message.incarnation, server.incarnation);
    if (order < 0) return this.#take();
    if (order > 0) {
      // Another process, or one that has lost the view: nothing that the client holds has a number there.
      this.#detach(now, { isAgain: true });
      return this.#take();
    }
    server.incarnation = message.incarnation;
    switch (message.kind) {
      case 'answer':
        this.#hearAnswer(server, message, now);
        break;
      case 'view':
        this.#hearView(server, message, now);
        break;
      case 'refusal':
        this.#hearRefusal(message, now);
        break;
    }
    return this.#take();
  }

  connectionBroke(name: string, now: Instant): ClientEffect[] {
    if (this.#state !== 'left' && this.#server?.name === name) this.#detach(now);
    return this.#take();
  }

  /** The clock stood still for an unknown time: a lease may be over, and views may count this client anew. */
  suspended(now: Instant): ClientEffect[] {
    if (this.#state === 'left') return this.#take();
    this.#detach(now, { isAgain: true });
    if (this.#countedBefore !== undefined) this.#countBefore(this.#countedBefore.common, now);
    return this.#take();
  }

  leave(now: Instant): ClientEffect[] {
    if (this.#state === 'left') return this.#take();
    this.#detach(now);
    this.#state = 'left';
    this.#view = undefined;
    return this.#take();
  }

  #attach(now: Instant): void {
    const { servers } = this.#settings;
    const name = servers[this.#turn % servers.length];
    this.#turn += 1;
    if (name !== undefined) this.#attachTo(name, now);
  }

  #attachTo(name: string, now: Instant): void {
    this.#count += 1;
    const id = { name: this.name, incarnation: this.#incarnation, count: this.#count };
    this.#server = {
      ...{ name, id, incarnation: undefined, echo: undefined, held: undefined, number: 0 },
      ...{ answeredAt: now, common: undefined },
    };
    this.#sendStamp(this.#server, now);
  }

  #sendStamp({ name, id, incarnation, echo, number }: Server, now: Instant): void {
    const { stampMs } = this.#durations.clients;
    this.#stampAt = later(now, stampMs * (0.9 + 0.2 * this.#settings.random()));
    const isCountable = this.#isCountableBy(name, now);
    this.#send(name, {
      ...{
        kind: 'stamp',
        client: id,
        to: name,
        stamp: now,
        server: incarnation,
        echo,
        holds: number,
        isCountable,
      },
    });
  }

  /** Whether no view can act that counts this client elsewhere, beside the views of this server. */
  #isCountableBy(name: string, now: Instant): boolean {
    if (this.#countedBefore !== undefined && now >= this.#countedBefore.until)
      this.#countedBefore = undefined;
    return this.#countedBefore === undefined || this.#countedBefore.common.has(name);
  }

  #hearAnswer(server: Server, { stamp, ownStamp, number, leaseMs }: Answer, now: Instant): void {
    server.answeredAt = latest(server.answeredAt, stamp);
    server.echo = latest(server.echo ?? NEVER, ownStamp);
    if (number === 0 && this.#state === 'in-view') this.#startChange(now);
    // An answer from before the view said that there is none, and arrived after the view.
    if (number === server.number && server.held !== undefined && this.#state !== 'in-view')
      this.#enterIfCounted(server, server.held, now);
    if (leaseMs <= 0 || number !== server.number || this.#state !== 'in-view') return;
    this.#actsUntil = latest(this.#actsUntil, later(stamp, leaseMs));
    if (now >= this.#actsUntil) return;
    this.#failures = 0;
    server.common = new Set(this.#view?.servers.map(({ name }) => name));
    this.#countedBefore = undefined;
  }

  #hearView(server: Server, { number, difference }: ViewForClient, now: Instant): void {
    if (number <= server.number) return;
    if (difference.base !== undefined && difference.base !== server.number) return;
    const view = applyDifference(difference.base === undefined ? undefined : server.held, difference);
    server.held = view;
    server.number = number;
    this.#actsUntil = NEVER;
    this.#enterIfCounted(server, view, now);
    this.#sendStamp(server, now);
  }

  #enterIfCounted(server: Server, view: ClientView, now: Instant): void {
    if (view.clients.some((client) => isSameAttachment(client, server.id))) {
      server.common = intersection(new Set(view.servers.map(({ name }) => name)), server.common);
      this.#view = view;
      this.#state = 'in-view';
      this.#effects.push({ do: 'deliver-view', view });
    } else this.#startChange(now);
  }

  #hearRefusal({ reason, by }: Refusal, now: Instant): void {
    if (reason === 'outbid' && by !== undefined && compareAttachments(by, this.#idNow()) >= 0) {
      this.#incarnation = laterIncarnation(by.incarnation, this.#settings.random);
      if (this.#refutations.add(now)) this.#effects.push({ do: 'name-taken', by });
      this.#detach(now, { isAgain: true });
      return;
    }
    if (reason === 'server-name') this.#effects.push({ do: 'name-taken', by: this.#idNow() });
    this.#detach(now);
  }

  /** Gives up the lease and the server. Then tries another server after a pause, or the same one again at once. */
  #detach(now: Instant, { isAgain = false } = {}): void {
    const server = this.#server;
    this.#actsUntil = NEVER;
    this.#startChange(now);
    if (server === undefined) return;
    this.#send(server.name, { kind: 'detach', client: server.id });
    this.#effects.push(trace('client-detached', { from: server.name }));
    this.#server = undefined;
    if (server.common !== undefined)
      this.#countBefore(intersection(server.common, this.#countedBefore?.common), now);
    if (isAgain) {
      this.#attachTo(server.name, now);
      return;
    }
    // The next server at once, and after a round of all servers a pause, which doubles.
    this.#failures += 1;
    const rounds = this.#failures / this.#settings.servers.length;
    const pauseMs = PAUSE_MS * 2 ** Math.min(rounds, 7) * this.#settings.random();
    this.#attachAt = Number.isInteger(rounds) ? later(now, pauseMs) : now;
  }

  /** Stamps, by which a server counts this client, were sent until now. */
  #countBefore(common: ReadonlySet<string>, now: Instant): void {
    this.#countedBefore = { common, until: later(now, this.#durations.clients.countedMs) };
  }

  #startChange(now: Instant): void {
    if (this.#state !== 'in-view') return;
    this.#state = 'changing';
    this.#actsUntil = NEVER;
    this.#changingSince = now;
    this.#effects.push({ do: 'start-change' });
  }

  #panicIfLate(now: Instant): void {
    if (this.#state !== 'changing' || now - this.#changingSince < this.#durations.panicMs) return;
    this.#state = 'panicking';
    this.#view = undefined;
    this.#effects.push({ do: 'panic' });
  }

  #idNow(): Attachment {
    return { name: this.name, incarnation: this.#incarnation, count: this.#count };
  }

  #send(to: string, message: FromClient): void {
    this.#effects.push({ do: 'send', to, message });
  }

  #take(): ClientEffect[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }
}

const intersection = (
  one: ReadonlySet<string>,
  other: ReadonlySet<string> | undefined,
): ReadonlySet<string> => (other === undefined ? one : new Set([...one].filter((name) => other.has(name))));
