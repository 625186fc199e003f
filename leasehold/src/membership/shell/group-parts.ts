/** Parts of the toolkit that stand on a group, such as shared limits: each under a channel, by which its datagrams are told apart. */

import { invalidOption } from '../../runtime/errors.ts';
import type { Family } from '../../runtime/metrics-text.ts';
import type { MemberId } from '../core/incarnation.ts';
import type { Datagram } from '../core/messages.ts';

export interface GroupPart {
  /** A view was delivered, in the same step: before any promise in this view has left. */
  delivered(): void;
  receive(from: MemberId, body: Uint8Array): void;
  /** This process has left the group. */
  left(): void;
  /** All members of the next view know that this server takes part, and its name is in the `parts` of that view. */
  readonly isAnnounced?: boolean;
  /** Shown with the metrics of the group. */
  metrics?: (() => readonly Family[]) | undefined;
}

export class GroupParts {
  readonly #parts = new Map<string, GroupPart>();
  readonly #announce: (channel: string, takesPart: boolean) => void;

  constructor(announce: (channel: string, takesPart: boolean) => void) {
    this.#announce = announce;
  }

  /** Until disposed. @throws {InvalidArgumentError} if the channel is taken */
  attach(channel: string, part: GroupPart): Disposable {
    if (this.#parts.has(channel))
      throw invalidOption('name', channel, 'this process uses this name in this group already');
    this.#parts.set(channel, part);
    if (part.isAnnounced === true) this.#announce(channel, true);
    return {
      [Symbol.dispose]: () => {
        if (this.#parts.delete(channel) && part.isAnnounced === true) this.#announce(channel, false);
      },
    };
  }

  delivered(): void {
    for (const part of this.#parts.values()) part.delivered();
  }

  receive(from: MemberId, { channel, body }: Datagram): void {
    this.#parts.get(channel)?.receive(from, body);
  }

  left(): void {
    for (const part of this.#parts.values()) part.left();
  }

  /** The metrics of all parts, those of one name together. */
  metrics(): Family[] {
    const families = new Map<string, Family>();
    for (const part of this.#parts.values()) {
      for (const family of part.metrics?.() ?? []) {
        const known = families.get(family.name)?.samples ?? [];
        const isList = Array.isArray(known) && Array.isArray(family.samples);
        families.set(family.name, isList ? { ...family, samples: [...known, ...family.samples] } : family);
      }
    }
    return [...families.values()];
  }
}
