/** What spread limits and group totals need of the group of a process: a sight of its views, and a channel for messages. */

import type { MemberId } from '../../../membership/core/incarnation.ts';
import type { GroupMember } from '../../../membership/shell/group-member.ts';
import type { GroupPart } from '../../../membership/shell/group-parts.ts';
import { MalformedMessageError } from '../../../runtime/errors.ts';
import type { GroupSight } from '../../core/spread/group-sight.ts';
import type { SpreadMessage } from '../../core/spread/messages.ts';
import { decodeSpread, encodeSpread } from '../../wire/spread.ts';

export function sightOf(group: GroupMember): GroupSight {
  const { member } = group.inside;
  return {
    get id() {
      return member.id;
    },
    get view() {
      return member.view;
    },
    get isChanging() {
      return member.isChanging;
    },
    get promisesEndAt() {
      return member.promisesEndAt;
    },
    // Reads the clock itself, and asks whether the machine was suspended.
    standing: () => group.standing(),
  };
}

export interface Channel extends Disposable {
  send(to: MemberId, message: SpreadMessage, isDirect: boolean): void;
}

export function attachTo(
  group: GroupMember,
  channel: string,
  part: Pick<GroupPart, 'left' | 'metrics'> & {
    look(): void;
    receive(from: MemberId, message: SpreadMessage): void;
  },
): Channel {
  const { logger } = group.inside;
  const attached = group.attach(channel, {
    delivered: () => part.look(),
    left: () => part.left(),
    metrics: part.metrics,
    receive: (from, body) => {
      const message = decoded(body, (why) =>
        logger.warn('a message of another member was malformed, and is dropped', {
          channel,
          from: from.name,
          why,
        }),
      );
      if (message !== undefined) part.receive(from, message);
    },
  });
  return {
    send: (to, message, isDirect) => group.datagram(to.name, channel, encodeSpread(message), isDirect),
    [Symbol.dispose]: () => attached[Symbol.dispose](),
  };
}

function decoded(body: Uint8Array, refused: (why: string) => void): SpreadMessage | undefined {
  try {
    return decodeSpread(body);
  } catch (error) {
    if (!(error instanceof MalformedMessageError)) throw error;
    refused(error.message);
    return undefined;
  }
}
