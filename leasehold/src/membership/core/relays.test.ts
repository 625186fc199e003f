import { describe, expect, it } from 'vitest';
import { membershipOf } from './incarnation.ts';
import type { ServerRecord } from './messages.ts';
import { passesOn } from './relays.ts';

const id = (name: string) => ({ name, incarnation: { startedMs: 1, nonce: 0 } });

const record = (name: string, ...links: readonly string[]): ServerRecord => ({
  ...id(name),
  ...{
    sequence: 1,
    links: links.map(id),
    cannotReach: [],
    list: { version: 0, clients: [], parts: [] },
    hasLeft: false,
  },
  proposal: { ...membershipOf([]), number: 1, holdMs: 0, chain: [] },
});

const names = Array.from({ length: 48 }, (_, index) => `s${index}`);
const servers = 50;
const never = (): number => 0.999;

const relaysOf = (published: ServerRecord, receiver: ServerRecord, holders = names): string[] =>
  holders.filter((name) => passesOn({ name, servers, random: never }, published, receiver));

describe('a record that does not list a server', () => {
  it('is passed on by two of the servers that both list, and by nobody else', () => {
    expect(relaysOf(record('a', ...names), record('b', ...names))).toHaveLength(2);
    expect(relaysOf(record('a', ...names.slice(0, 30)), record('b', ...names.slice(20)))).toHaveLength(2);
    expect(relaysOf(record('a', 's1', 's2'), record('b', 's2', 's3'))).toEqual(['s2']);
  });

  it('is passed on to other receivers by other servers, so that the work is shared', () => {
    const relays = names.flatMap((name) => relaysOf(record('a', ...names), record(`to-${name}`, ...names)));
    expect(new Set(relays).size).toBeGreaterThan(names.length / 2);
  });

  it('is not passed on by a process that the receiver knows by another incarnation', () => {
    const receiver = {
      ...record('b'),
      links: [{ ...id('s1'), incarnation: { startedMs: 2, nonce: 0 } }, id('s2')],
    };
    expect(relaysOf(record('a', 's1', 's2'), receiver)).toEqual(['s2']);
  });

  it('is passed on by everybody in a small group in which the two have no neighbour in common', () => {
    const self = { name: 's1', servers: 4, random: never };
    expect(passesOn(self, record('a', 's1'), record('b', 's2'))).toBe(true);
    expect(passesOn(self, record('a', 's1'), undefined)).toBe(true);
  });

  it('is passed on by everybody to a server with few links, as in a chain of servers', () => {
    const self = { name: 's1', servers, random: never };
    expect(passesOn(self, record('a', 's1'), record('b', 's2', 's3'))).toBe(true);
  });

  it('is passed on by a few, drawn by chance, in a large group in which the two have no neighbour in common', () => {
    const receiver = record('b', ...names.slice(2, 10));
    const passes = (draw: number) =>
      passesOn({ name: 's1', servers, random: () => draw }, record('a', 's1'), receiver);
    expect([0, 0.039, 0.041, 0.999].map(passes)).toEqual([true, true, false, false]);
  });
});
