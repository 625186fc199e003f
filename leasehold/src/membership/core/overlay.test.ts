import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { membershipOf, type SetMember } from './incarnation.ts';
import { Overlay, type Router } from './overlay.ts';
import type { MemberView } from './view.ts';

const idOf = (name: string, startedMs = 1): SetMember => ({
  name,
  incarnation: { startedMs, nonce: 0 },
  listVersion: 0,
});
const [a, b, c] = [idOf('a'), idOf('b'), idOf('c')];
const body = new Uint8Array();
const NO_ROUTER: Router = { self: () => a, nextHop: () => undefined, emit: () => {} };
const viewOf = (...members: readonly SetMember[]): MemberView => ({
  ...membershipOf(members),
  ...{ id: '1', greatestNumber: 1, sumOfNumbers: 1, kept: [], clients: [], parts: new Map() },
});
const data = (id: number, oldestId: number) => ({ kind: 'data', id, oldestId, body }) as const;

describe('the sender of messages', () => {
  it('waits for the acknowledgement of the process that it sent to', () => {
    const overlay = new Overlay(NO_ROUTER);
    const id = overlay.add(b, body, instant(0));
    expect(overlay.acknowledged(c, id)).toBe(false);
    expect(overlay.acknowledged(idOf('b', 2), id)).toBe(false);
    expect(overlay.acknowledged(b, id)).toBe(true);
    expect(overlay.acknowledged(b, id)).toBe(false);
  });

  it('fails a message with a view without its receiver, or without a view', () => {
    const overlay = new Overlay(NO_ROUTER);
    const [toB, toC] = [overlay.add(b, body, instant(0)), overlay.add(c, body, instant(0))];
    expect(overlay.failedBy(viewOf(a, b, idOf('c', 2)))).toEqual([toC]);
    expect(overlay.failedBy(undefined)).toEqual([toB]);
  });

  it('doubts a message once, and fails it with the next view whatever its members', () => {
    const overlay = new Overlay(NO_ROUTER);
    const id = overlay.add(b, body, instant(0));
    expect([...overlay.doubtedAfter(4_000, instant(4_000))]).toEqual([]);
    expect([...overlay.doubtedAfter(4_000, instant(4_001))]).toEqual([b]);
    expect([...overlay.doubtedAfter(4_000, instant(9_000))]).toEqual([]);
    expect(overlay.failedBy(viewOf(a, b))).toEqual([id]);
  });

  it('says which messages it no longer waits for', () => {
    const overlay = new Overlay(NO_ROUTER);
    const [first, second] = [overlay.add(b, body, instant(0)), overlay.add(c, body, instant(0))];
    expect(overlay.payloadOf(second)?.payload.oldestId).toBe(first);
    overlay.acknowledged(b, first);
    expect(overlay.payloadOf(second)?.payload.oldestId).toBe(second);
  });
});

describe('a sender that has a new incarnation', () => {
  it('repeats nothing that it sent before, and those messages fail with the next view', () => {
    const overlay = new Overlay(NO_ROUTER);
    const before = overlay.add(b, body, instant(0));
    overlay.abandon();
    const after = overlay.add(b, body, instant(1));
    expect([...overlay.waitingIds()]).toEqual([after]);
    expect(overlay.failedBy(viewOf(idOf('a', 2), b))).toEqual([before]);
  });
});

describe('the receiver of messages', () => {
  it('hands each over once, in any order', () => {
    const overlay = new Overlay(NO_ROUTER);
    expect([2, 1, 2, 1, 3].map((id) => overlay.accepts(a, data(id, 1)))).toEqual([
      true,
      true,
      false,
      false,
      true,
    ]);
  });

  it('hands over none that its sender has given up', () => {
    const overlay = new Overlay(NO_ROUTER);
    expect(overlay.accepts(a, data(5, 4))).toBe(true);
    expect(overlay.accepts(a, data(3, 1))).toBe(false);
  });

  it('counts anew for a later process of the sender, and ignores an earlier one', () => {
    const overlay = new Overlay(NO_ROUTER);
    expect(overlay.accepts(a, data(1, 1))).toBe(true);
    expect(overlay.accepts(idOf('a', 2), data(1, 1))).toBe(true);
    expect(overlay.accepts(a, data(2, 1))).toBe(false);
  });
});
