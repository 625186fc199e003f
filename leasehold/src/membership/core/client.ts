/**
 * One client of a group, without I/O: a process that does not listen, and is in views through one server at a time.
 *
 *              connected: its name            answer, view                no answer, connection broken, refused
 *     dialling ───────────────────► attaching ─────────────► attached ───────────────────────────────────────────► dialling, the next place
 *
 * **Names.** The client is given places (addresses), and learns the name of the server at a place from the connection. No stamp is sent before: a stamp names the
 * server that is meant, and what the client remembers of servers (below) are names, as in views.
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
import type { SendOutcome } from './effects.ts';
import { compareIncarnations, type Incarnation, laterIncarnation, type MemberId } from './incarnation.ts';
import { isSameProcess, Letters, processNamed, receiptOf } from './letters.ts';
import type { Answer, FromClient, Letter, Post, Refusal, ToClient, ViewForClient } from './messages.ts';
import { Refutations } from './refutations.ts';
import { greatestNumberIn } from './view.ts';
import { applyDifference, type ClientView } from './view-difference.ts';

export interface ClientSettings {
  readonly name: string;
  readonly incarnation: Incarnation;
  /** Where servers are, each place once. */
  readonly places: readonly string[];
  readonly durations: Durations;
  random(): number;
}

export type ClientEffect =
  /** Connect to this place, and tell the core which server is there; see {@link Client.connected}. */
  | { readonly do: 'dial'; readonly place: string }
  /** `to` is the place of the server. */
  | { readonly do: 'send'; readonly to: string; readonly message: FromClient }
  /** The present view counts no more: be careful. */
  | { readonly do: 'start-change' }
  | { readonly do: 'deliver-view'; readonly view: ClientView }
  | { readonly do: 'no-view' }
  | { readonly do: 'hand-over'; readonly from: MemberId; readonly body: Uint8Array }
  | { readonly do: 'settle-send'; readonly id: number; readonly outcome: SendOutcome }
  | { readonly do: 'name-taken'; readonly by: Attachment }
  | TraceEffect;

/** A server to which this client is attached, or wants to be. */
interface Server {
  readonly place: string;
  /** Undefined until there is a connection. */
  name: string | undefined;
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
  #state: 'changing' | 'in-view' | 'no-view' | 'left' = 'changing';
  #changingSince: Instant;
  #view: ClientView | undefined;
  #greatestNumber = 0;
  #actsUntil: Instant = NEVER;
  /** The servers that are in every view in which an earlier server may count this client, until then; undefined if there is no such view. */
  #countedBefore: { readonly common: ReadonlySet<string>; readonly until: Instant } | undefined;
  readonly #refutations = new Refutations();
  readonly #letters: Letters;
  #lastId = 0;
  #effects: ClientEffect[] = [];

  constructor(settings: ClientSettings, now: Instant) {
    this.#settings = settings;
    this.#durations = settings.durations;
    this.#incarnation = settings.incarnation;
    this.#turn = Math.floor(settings.random() * settings.places.length);
    this.#attachAt = now;
    this.#stampAt = now;
    this.#changingSince = now;
    const { clients, doubtMs } = settings.durations;
    this.#letters = new Letters({ repeatMs: clients.stampMs, giveUpMs: doubtMs });
  }

  get name(): string {
    return this.#settings.name;
  }

  /** The server to which this client is attached. */
  get server(): string | undefined {
    return this.#server?.incarnation === undefined ? undefined : this.#server.name;
  }

  get state(): 'changing' | 'in-view' | 'no-view' | 'left' {
    return this.#state;
  }

  /** The present view, or the last one during a change; undefined without one. */
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
    this.#endViewIfLate(now);
    this.#repeatLetters(now);
    return this.#take();
  }

  /** There is a connection to a place, and the server at its other end has this name. */
  connected(place: string, name: string, now: Instant): ClientEffect[] {
    const server = this.#server;
    if (this.#state !== 'left' && server?.place === place && server.name === undefined) {
      server.name = name;
      this.#sendStamp(server, now);
    }
    return this.#take();
  }

  receive(from: string, message: ToClient, now: Instant): ClientEffect[] {
    const server = this.#server;
    if (
      this.#state === 'left' ||
      server?.place !== from ||
      server.name === undefined ||
      !isSameAttachment(message.client, server.id)
    )
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
      case 'incoming':
        this.#hearPost(message.post);
        break;
    }
    return this.#take();
  }

  connectionBroke(place: string, now: Instant): ClientEffect[] {
    if (this.#state !== 'left' && this.#server?.place === place) this.#detach(now);
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
    this.#settleSends(this.#letters.failedBy(undefined), 'no-view');
    return this.#take();
  }

  /** Sends to another process of the present view. Undefined if there is no such process, or no server to send over. */
  send(name: string, body: Uint8Array, now: Instant): { id: number | undefined; effects: ClientEffect[] } {
    const view = this.#view;
    const to = view && (processNamed(view.servers, name) ?? processNamed(view.clients, name));
    const from = this.#process;
    if (view === undefined || to === undefined || name === this.name || this.#server === undefined)
      return { id: undefined, effects: this.#take() };
    this.#lastId += 1;
    this.#post(this.#letters.begin(this.#lastId, { from, to, viewId: view.id }, body, now));
    return { id: this.#lastId, effects: this.#take() };
  }

  get #process(): MemberId {
    return { name: this.name, incarnation: this.#incarnation };
  }

  /** The view in which this client takes and repeats letters. */
  get #presentViewId(): string | undefined {
    return this.#state === 'in-view' ? this.#view?.id : undefined;
  }

  #repeatLetters(now: Instant): void {
    this.#settleSends(this.#letters.givenUp(now), 'unknown');
    for (const letter of this.#letters.due(this.#presentViewId, now)) this.#post(letter);
  }

  #post(post: Post): void {
    if (this.#server !== undefined)
      this.#send(this.#server, { kind: 'outgoing', client: this.#server.id, post });
  }

  #hearPost(post: Post): void {
    if (!isSameProcess(post.to, this.#process)) return;
    if (post.kind === 'letter') this.#hearLetter(post);
    else if (this.#letters.settles(post)) this.#settleSends([post.id], 'delivered');
  }

  #hearLetter(letter: Letter): void {
    const outcome = this.#letters.receive(letter, this.#presentViewId);
    if (outcome === 'refused') return;
    if (outcome === 'new') this.#effects.push({ do: 'hand-over', from: letter.from, body: letter.body });
    this.#post(receiptOf(letter));
  }

  #settleSends(ids: readonly number[], outcome: SendOutcome): void {
    for (const id of ids) this.#effects.push({ do: 'settle-send', id, outcome });
  }

  #attach(now: Instant): void {
    const { places } = this.#settings;
    const place = places[this.#turn % places.length];
    this.#turn += 1;
    if (place !== undefined) this.#attachTo(place, now);
  }

  #attachTo(place: string, now: Instant): void {
    this.#count += 1;
    const id = { name: this.name, incarnation: this.#incarnation, count: this.#count };
    this.#server = {
      ...{ place, name: undefined, id, incarnation: undefined, echo: undefined, held: undefined, number: 0 },
      ...{ answeredAt: now, common: undefined },
    };
    this.#stampAt = later(now, this.#durations.clients.stampMs);
    this.#effects.push({ do: 'dial', place });
  }

  #sendStamp(server: Server, now: Instant): void {
    const { stampMs } = this.#durations.clients;
    this.#stampAt = later(now, stampMs * (0.9 + 0.2 * this.#settings.random()));
    const { name, id, incarnation, echo, number } = server;
    if (name === undefined) return;
    const isCountable = this.#isCountableBy(name, now);
    this.#send(server, {
      ...{
        kind: 'stamp',
        client: id,
        to: name,
        stamp: now,
        server: incarnation,
        echo,
        holds: number,
        greatestNumber: this.#greatestNumber,
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
      this.#greatestNumber = Math.max(this.#greatestNumber, greatestNumberIn(view.id));
      this.#state = 'in-view';
      this.#effects.push({ do: 'deliver-view', view });
      this.#settleSends(this.#letters.failedBy(view.id), 'new-view');
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
    // Nothing was said to a place that was only dialled.
    if (server.name !== undefined) this.#send(server, { kind: 'detach', client: server.id });
    this.#effects.push(trace('client-detached', { from: server.name ?? server.place }));
    this.#server = undefined;
    if (server.common !== undefined)
      this.#countBefore(intersection(server.common, this.#countedBefore?.common), now);
    if (isAgain) {
      this.#attachTo(server.place, now);
      return;
    }
    // The next server at once, and after a round of all servers a pause, which doubles.
    this.#failures += 1;
    const rounds = this.#failures / this.#settings.places.length;
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

  #endViewIfLate(now: Instant): void {
    if (this.#state !== 'changing' || now - this.#changingSince < this.#durations.noViewAfterMs) return;
    this.#state = 'no-view';
    this.#view = undefined;
    this.#effects.push({ do: 'no-view' });
    this.#settleSends(this.#letters.failedBy(undefined), 'no-view');
  }

  #idNow(): Attachment {
    return { name: this.name, incarnation: this.#incarnation, count: this.#count };
  }

  #send({ place }: Server, message: FromClient): void {
    this.#effects.push({ do: 'send', to: place, message });
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
