/** The links of one server: to the configured peers for ever, and to other servers for as long as they are heard. */

import { type Instant, instant } from '../../runtime/time.ts';
import type { Durations } from './durations.ts';
import { linksOf } from './graph.ts';
import type { HeardWords } from './heard-words.ts';
import type { MemberId } from './incarnation.ts';
import { Link } from './link.ts';
import type { ServerRecord } from './messages.ts';

/** A proof of a link lasts so much longer at most, in `downMs`. */
const LATENESS_MAX = 2;

export class Links {
  #peers: readonly string[] = [];
  readonly #durations: Durations;
  readonly #links = new Map<string, Link>();
  /** When this server last noticed that the process had stood still. */
  #lateAt: Instant = instant(Number.NEGATIVE_INFINITY);
  /** How late this server has been lately, from 0 to {@link LATENESS_MAX}. */
  #lateness = 0;

  constructor(peers: readonly string[], durations: Durations) {
    this.#durations = durations;
    this.setPeers(peers);
  }

  /** A server that is no peer any more stays for as long as it is heard. */
  setPeers(peers: readonly string[]): void {
    this.#peers = peers;
    for (const name of peers) this.to(name);
  }

  get(name: string): Link | undefined {
    return this.#links.get(name);
  }

  values(): Iterable<Link> {
    return this.#links.values();
  }

  /** The link to a server, which may be new. */
  to(name: string): Link {
    let link = this.#links.get(name);
    if (link === undefined) {
      link = new Link(name, this.#durations);
      this.#links.set(name, link);
    }
    return link;
  }

  /**
   * Judges every link by the age of its proof, with each heartbeat.
   *
   * A process that stood still has sent no stamp that a peer could echo, and the peers' last heartbeats wait in the queues of the connections. So if the own heartbeat is more than one
   * heartbeat late, no link goes down for two heartbeats: until a stamp that is sent now has been echoed. A process that is late all the time judges half of the time.
   *
   * Where this process has to wait for a processor, its peers most likely wait too, or it has not read what they sent. So each heartbeat that is late by more than a quarter
   * makes every proof last longer, up to three times as long, and each heartbeat in time takes an eighth of that back (decision 0111). A process that is never late finds a silent
   * peer after `downMs`, as before.
   */
  update(now: Instant, lateMs: number): void {
    const { heartbeatMs, downMs, doubtMs } = this.#durations;
    if (lateMs > heartbeatMs && now - this.#lateAt > 4 * heartbeatMs) this.#lateAt = now;
    if (lateMs > heartbeatMs / 4) this.#lateness = Math.min(LATENESS_MAX, this.#lateness + 1);
    else if (lateMs >= 0) this.#lateness = Math.max(0, this.#lateness - 1 / 8);
    const provenForMs = Math.min(downMs * (1 + this.#lateness), doubtMs);
    const mayGoDown = now - this.#lateAt >= 2 * heartbeatMs;
    for (const link of this.#links.values()) link.update(now, mayGoDown, provenForMs);
  }

  /** The peers whose clocks run so fast or slow that no lease can rest on them. */
  *clocksOutsideTheBound(): Generator<{ readonly peer: MemberId; readonly rate: number }> {
    for (const { name, incarnation, clockRate: rate } of this.#links.values())
      if (rate !== undefined && incarnation !== undefined) yield { peer: { name, incarnation }, rate };
  }

  /** The processes to which a link is up. */
  up(): MemberId[] {
    const up: MemberId[] = [];
    for (const { name, incarnation, isUp } of this.#links.values())
      if (isUp && incarnation !== undefined) up.push({ name, incarnation });
    return up;
  }

  /** The linked peers to which a record of another server may have to be passed on: the publisher has sent the record to those that the record lists. */
  *unlistedBy(record: ServerRecord, source: string): Generator<string> {
    const listed = linksOf(record);
    for (const { name, isUp } of this.#links.values())
      if (isUp && name !== source && name !== record.name && !listed.has(name)) yield name;
  }

  /** Heartbeats go for ever to the configured peers only: another server dials this one when it is back, and names must not add up. */
  dropSilentGuests(heard: HeardWords, now: Instant): void {
    for (const { name, isUp } of this.#links.values()) {
      if (isUp || this.#peers.includes(name)) continue;
      const newest = heard.newestOf(name);
      if (newest === undefined || now - newest.at > this.#durations.noViewAfterMs) this.#links.delete(name);
    }
  }

  forget(name: string): void {
    if (!this.#peers.includes(name)) this.#links.delete(name);
  }
}
