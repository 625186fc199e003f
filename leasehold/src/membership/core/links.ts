/** The links of one server: to the configured peers for ever, and to other servers for as long as they are heard. */

import type { Instant } from '../../runtime/time.ts';
import type { Durations } from './durations.ts';
import type { HeardWords } from './heard-words.ts';
import type { MemberId } from './incarnation.ts';
import { Link } from './link.ts';
import type { ServerRecord } from './messages.ts';

export class Links {
  #peers: readonly string[] = [];
  readonly #durations: Durations;
  readonly #links = new Map<string, Link>();

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

  /** The processes to which a link is up. */
  up(): MemberId[] {
    const up: MemberId[] = [];
    for (const { name, incarnation, isUp } of this.#links.values())
      if (isUp && incarnation !== undefined) up.push({ name, incarnation });
    return up;
  }

  /**
   * The linked peers to which a record goes: all, if the record is the own one, which has no source. A record of another server goes to those that the record
   * does not list: its publisher has sent the record to those listed. With 50 servers, a change floods 50 times fewer messages. A flood
   * that was lost on the way to a listed peer is repaired by heartbeats.
   */
  *receiversOf(record: ServerRecord, source: string | undefined): Generator<string> {
    const listed = new Set(source === undefined ? [] : record.links.map(({ name }) => name));
    for (const { name, isUp } of this.#links.values())
      if (isUp && name !== source && name !== record.name && !listed.has(name)) yield name;
  }

  /** Heartbeats go for ever to the configured peers only: another server dials this one when it is back, and names must not add up. */
  dropSilentGuests(heard: HeardWords, now: Instant): void {
    for (const { name, isUp } of this.#links.values()) {
      if (isUp || this.#peers.includes(name)) continue;
      const newest = heard.newestOf(name);
      if (newest === undefined || now - newest.at > this.#durations.panicMs) this.#links.delete(name);
    }
  }

  forget(name: string): void {
    if (!this.#peers.includes(name)) this.#links.delete(name);
  }
}
