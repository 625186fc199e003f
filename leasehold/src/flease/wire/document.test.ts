/** What `docs/flease-protocol.md` prints is what is spoken. */

import { Buffer } from 'node:buffer';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { RESOURCE_BYTES_MAX } from '../core/messages.ts';
import { NAME_CHARACTERS_MAX } from '../core/view.ts';
import { FLEASE_PROTOCOL } from './codec.ts';
import { REASONS } from './items.ts';
import { decodePacket, encodePacket, FRAME_BYTES } from './packet.ts';
import { SAMPLES } from './samples.ts';

const DOCUMENT = readFileSync(new URL('../../../../docs/flease-protocol.md', import.meta.url), 'utf8');

/** Blocks of bytes, by their names; what is behind a semicolon is for people. */
const BLOCKS: ReadonlyMap<string, Uint8Array> = new Map(
  [...DOCUMENT.matchAll(/^```hex (\w+)\n(.*?)^```$/gms)].map(([, name = '', lines = '']) => {
    const hex = lines.replaceAll(/;.*$/gm, '').replaceAll(/\s/g, '');
    return [name, Buffer.from(hex, 'hex')];
  }),
);

describe('the document of the protocol', () => {
  it('prints these packets, and no others', () => {
    expect([...BLOCKS.keys()]).toEqual(Object.keys(SAMPLES));
  });

  it.each(Object.entries(SAMPLES))('prints %s as it is written and read', (name, packet) => {
    const printed = BLOCKS.get(name) ?? Buffer.of();
    expect(Buffer.concat(encodePacket(packet)).toString('hex')).toBe(Buffer.from(printed).toString('hex'));
    expect(decodePacket(printed)).toStrictEqual(packet);
  });

  it('has the name, the reasons and the limits', () => {
    expect(DOCUMENT).toContain(`\`${FLEASE_PROTOCOL.name}\``);
    for (const [number, reason] of REASONS.entries()) {
      expect(DOCUMENT).toContain(`\n| ${number} | ${reason.replace('-', ' ')} |`);
    }
    expect(DOCUMENT).toContain(`1 to ${NAME_CHARACTERS_MAX} characters`);
    expect(DOCUMENT).toContain(`1 to ${RESOURCE_BYTES_MAX.toLocaleString('en')} bytes`);
    expect(DOCUMENT).toContain(`at most ${FRAME_BYTES / 1024} KiB and one item`);
  });
});
