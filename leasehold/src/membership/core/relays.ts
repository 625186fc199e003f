/**
 * Which servers pass a record on.
 *
 * The publisher sends its record to every server that the record lists. A server that the record does not list gets the record from a *relay*: a server
 * that the publisher and the receiver both list. While 50 servers start, each record lists some 25, and if each of these passed the record on to each
 * of the other 25, one record would travel 625 times. So the first two common neighbours pass the record on, counted from a place in the list that differs from
 * receiver to receiver, so that the work is shared.
 *
 * Relays are found in the records that this server has, which may be out of date, and a relay may have crashed: then the heartbeats repair what is missing. Where
 * the publisher and the receiver have no neighbour in common, as in a chain of servers, every server of a small group passes the record on. In a large
 * group some do, by chance: most links of a group that starts are not up yet, and hardly any two servers have a neighbour in common.
 */

import { linksOf } from './graph.ts';
import { isSameIncarnation } from './incarnation.ts';
import type { ServerRecord } from './messages.ts';

const RELAYS = 2;
/** Of so few servers each passes on. */
const SMALL_GROUP = 4;
/** A server with so few links is at the edge of a group with few links, and not one of many that start. */
const FEW_LINKS = 5;
/** How many servers of a larger group pass a record on where there are no relays, on average. */
const WITHOUT_RELAYS = 2;

export interface Relay {
  readonly name: string;
  /** How many servers there are. */
  readonly servers: number;
  random(): number;
}

/** Whether this server passes this record on to the server with the record `receiver`. */
export function passesOn(self: Relay, record: ServerRecord, receiver: ServerRecord | undefined): boolean {
  const isChosen = receiver && isRelay(self.name, record, receiver);
  if (isChosen !== undefined) return isChosen;
  const isSparse =
    self.servers <= SMALL_GROUP || (receiver !== undefined && receiver.links.length <= FEW_LINKS);
  return isSparse || self.random() * self.servers < WITHOUT_RELAYS;
}

/** Undefined if there are no relays. */
function isRelay(self: string, record: ServerRecord, receiver: ServerRecord): boolean | undefined {
  const listed = linksOf(receiver);
  const { links } = record;
  const first = placeOf(receiver.name, links.length);
  let found = 0;
  for (let step = 0; step < links.length && found < RELAYS; step += 1) {
    const link = links[(first + step) % links.length];
    const incarnation = link && listed.get(link.name);
    if (link === undefined || incarnation === undefined || !isSameIncarnation(incarnation, link.incarnation))
      continue;
    if (link.name === self) return true;
    found += 1;
  }
  return found === 0 ? undefined : false;
}

/** A hash: all servers compute the same place, and names spread evenly. */
function placeOf(name: string, places: number): number {
  let place = 0;
  for (let index = 0; index < name.length; index += 1) place = (place * 31 + name.charCodeAt(index)) >>> 0;
  return places === 0 ? 0 : place % places;
}
