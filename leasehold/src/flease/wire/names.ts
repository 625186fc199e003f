/**
 * Names of members in a packet. Members are few and are named often, so a name is the place that it has among the names of this packet; the
 * sender's is 0. The first free place means that the name itself follows, and has that place from then on.
 *
 * One packet is written or read at a time, so one table of each kind is enough.
 */

import type { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw } from '../../runtime/msgpack/flaw.ts';
import { nameText } from './rules.ts';

/** The names in the frame that is written, and their places. */
const places = new Map<string, number>();
/** The last look-up: the next name is mostly the same. */
let lastName: string | undefined;
let lastPlace = 0;

/** The names in the frame that is read. */
let names: string[] = [];

/** To be called when a frame begins. */
export function beginWriting(sender: string): void {
  places.clear();
  places.set(sender, 0);
  lastName = undefined;
}

export function writeName(writer: ByteWriter, name: string): void {
  if (name === lastName) {
    writer.varint(lastPlace);
    return;
  }
  const known = places.get(name);
  const place = known ?? places.size;
  writer.varint(place);
  lastName = name;
  lastPlace = place;
  if (known !== undefined) return;
  places.set(name, place);
  nameText.write(writer, name);
}

/** To be called when a frame begins. */
export function beginReading(sender: string): void {
  names = [sender];
}

export function readName(reader: ByteReader): string {
  const place = reader.varint();
  const known = names[place];
  if (known !== undefined) return known;
  if (place !== names.length) throw new Flaw('names a member that was not named before');
  const name = nameText.read(reader);
  names.push(name);
  return name;
}
