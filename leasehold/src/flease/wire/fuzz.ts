/** Damages packets. Their samples are those of the head and of the items. */

import { Buffer } from 'node:buffer';
import { type FuzzOutcome, fuzz, subject } from '../../runtime/wire/fuzz.ts';
import { decodePacket, encodePacket, packetSamples } from './packet.ts';

/** @throws if the reader throws anything but a refusal, or reads a packet that no writer writes */
export const fuzzFlease = (runs: number, seed: number): FuzzOutcome =>
  // So little fits into one frame.
  fuzz([subject(packetSamples(), (packet) => Buffer.concat(encodePacket(packet)), decodePacket)], runs, seed);
