import { describe, expect, it } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import { RecordTable } from '../record-table.ts';
import { ByRegistry } from './by-registry.ts';
import type { Registration } from './registry.ts';

const DURATIONS = { registrationMs: 3_000, heartbeatMs: 100, registrationHoldMs: 3_720 };
const incarnationOf = (nonce: number) => ({ startedMs: 1, nonce });
const SELF = { name: 'a', incarnation: incarnationOf(1) };
const OWN: Registration = { ...SELF, revision: 7 };
const OLDER: Registration = { name: 'b', incarnation: incarnationOf(2), revision: 5 };

/** A server that is told to register, and reads this first at 100. */
function registered(...found: readonly Registration[]): ByRegistry {
  const registry = new ByRegistry(DURATIONS);
  read(registry, [], 0, 6);
  expect(registry.registers('a', [], new RecordTable(), instant(0))).toBe(true);
  expect(read(registry, found, 100)).toBe(true);
  return registry;
}

/** Whether the registration goes on, after a read whose answer takes 10 ms. */
const read = (
  registry: ByRegistry,
  registrations: readonly Registration[],
  sentMs: number,
  revision = 7,
  answeredMs = sentMs + 10,
): boolean =>
  registry.read({ revision, registrations }, { sentAt: instant(sentMs), now: instant(answeredMs) }, SELF);

describe('a registered server', () => {
  it('acts for a registration from sending a read, once a read was sent after its hold', () => {
    const registry = registered(OWN);
    for (const sentMs of [2_000, 3_800]) read(registry, [OWN], sentMs);
    expect(registry.actsUntil).toBe(Number.NEGATIVE_INFINITY);
    expect(registry.isOver('a', new RecordTable(), instant(3_900))).toBe(false);
    read(registry, [OWN], 3_850);
    expect(registry.actsUntil).toBe(6_850);
  });

  it('does not hold while an older registration is there', () => {
    expect(registered(OWN, OLDER).actsUntil).toBe(3_100);
  });

  it('is registered no more if the answer comes when the read before has run out', () => {
    expect(read(registered(OWN), [OWN], 3_000, 7, 3_099)).toBe(true);
    expect(read(registered(OWN), [OWN], 3_000, 7, 3_100)).toBe(false);
  });

  it('is registered no more in a store that went back, though its registration is there', () => {
    const registry = registered(OWN);
    expect(read(registry, [OWN], 200, 9)).toBe(true);
    expect(read(registry, [OWN], 300, 8)).toBe(false);
  });

  it('is registered no more if its entry was put again', () => {
    expect(read(registered(OWN), [{ ...OWN, revision: 8 }], 200, 8)).toBe(false);
  });
});
