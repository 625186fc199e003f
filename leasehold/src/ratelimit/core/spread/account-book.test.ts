import { describe, expect, it } from 'vitest';
import { keyOf, type MemberId } from '../../../membership/core/incarnation.ts';
import { instant } from '../../../runtime/time.ts';
import { AccountBook } from './account-book.ts';
import type { BookMessage } from './messages.ts';

const GIVER: MemberId = { name: 'giver', incarnation: { startedMs: 1, nonce: 1 } };
const TAKER: MemberId = { name: 'taker', incarnation: { startedMs: 1, nonce: 2 } };

/** A side of an account: sent messages are kept, and delivered by the test. */
class Side {
  readonly sent: { readonly message: BookMessage; readonly isDirect: boolean }[] = [];
  readonly book: AccountBook;
  readonly #peer: MemberId;
  held = 0;

  constructor(peer: MemberId) {
    this.#peer = peer;
    this.book = new AccountBook({
      epochMs: 100,
      send: (_, message, isDirect) => this.sent.push({ message, isDirect }),
      accepts: () => true,
      add: ([amount = 0]) => {
        this.held += amount;
      },
    });
    this.open('v1');
  }

  open(line: string): void {
    this.book.open(new Map([[keyOf(this.#peer), { id: this.#peer, line }]]));
  }

  epochAt(ms: number): void {
    this.book.epoch(instant(ms));
  }

  last(kind: BookMessage['kind']): BookMessage {
    const found = this.sent.findLast(({ message }) => message.kind === kind);
    if (found === undefined) throw new Error(`no ${kind} was sent`);
    return found.message;
  }

  hears(message: BookMessage, ms: number): void {
    this.book.receive(this.#peer, message, instant(ms));
  }
}

/** The giver has sent four times without an answer, and asks over the overlay. */
function cutOff(): { giver: Side; taker: Side } {
  const [giver, taker] = [new Side(TAKER), new Side(GIVER)];
  giver.book.give(TAKER, [7], instant(0));
  for (const ms of [250, 500, 750, 1_000]) giver.epochAt(ms);
  return { giver, taker };
}

describe('the accounts of a process', () => {
  it('send again after two epochs, and ask over the overlay after four sendings', () => {
    const { giver } = cutOff();
    expect(giver.sent.map(({ message, isDirect }) => [message.kind, isDirect])).toEqual([
      ...Array(4).fill(['transfer', true]),
      ['settle', false],
    ]);
    expect(giver.book.blacklist).toEqual(['taker']);
    expect(giver.book.direct).toEqual([]);
  });

  it('take back an amount that never arrived, and the peer ignores a late transfer', () => {
    const { giver, taker } = cutOff();
    taker.hears(giver.last('settle'), 1_100);
    expect(taker.book.blacklist).toEqual(['giver']);
    giver.hears(taker.last('settled'), 1_200);
    expect(giver.held).toBe(7);
    taker.hears(giver.last('transfer'), 1_300);
    expect(taker.held).toBe(0);
  });

  it('lose nothing when a late transfer of voided items is acknowledged before the answer comes', () => {
    const { giver, taker } = cutOff();
    taker.hears(giver.last('settle'), 1_100);
    taker.hears(giver.last('transfer'), 1_150);
    giver.hears(taker.last('acknowledgement'), 1_200);
    giver.hears(taker.last('settled'), 1_300);
    expect(giver.held + taker.held).toBe(7);
  });

  it('keep a peer on the blacklist until its account is settled, though a probe is answered', () => {
    const { giver, taker } = cutOff();
    giver.epochAt(6_100);
    taker.hears(giver.last('probe'), 6_150);
    giver.hears(taker.last('probe'), 6_200);
    expect(giver.book.blacklist).toEqual(['taker']);
    taker.hears(giver.last('settle'), 6_300);
    giver.hears(taker.last('settled'), 6_400);
    giver.epochAt(11_500);
    taker.hears(giver.last('probe'), 11_550);
    giver.hears(taker.last('probe'), 11_600);
    expect(giver.book.blacklist).toEqual([]);
  });

  it('give nothing to a blacklisted peer: the amount comes back at once', () => {
    const { giver } = cutOff();
    giver.book.give(TAKER, [3], instant(1_100));
    expect(giver.held).toBe(3);
  });

  it('drop transfers of another line', () => {
    const { giver, taker } = cutOff();
    taker.open('v2');
    taker.hears(giver.last('transfer'), 1_100);
    expect(taker.held).toBe(0);
  });
});
