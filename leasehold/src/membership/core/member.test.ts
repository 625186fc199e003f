import { describe, expect, it } from 'vitest';
import { instant, type Instant } from '../../runtime/time.ts';
import { resolveDurations } from './durations.ts';
import type { MemberEffect } from './effects.ts';
import { Member } from './member.ts';
import type { ServerRecord } from './messages.ts';
import { viewOf } from './view.ts';

/** Servers whose messages arrive at once, until a link is cut; all clocks show the same. */
class Group {
  readonly members: Map<string, Member>;
  readonly cuts = new Set<string>();
  readonly told: string[] = [];
  now: Instant = instant(1_000_000);

  constructor(...names: readonly string[]) {
    this.members = new Map(names.map((name, index) => [name, this.#start(name, names, index)]));
  }

  #start(name: string, names: readonly string[], nonce: number): Member {
    const peers = names.filter((other) => other !== name);
    const incarnation = { startedMs: 1, nonce };
    const durations = resolveDurations();
    return new Member({ name, incarnation, peers, durations, random: () => 0.5 }, this.now);
  }

  at(name: string): Member {
    const member = this.members.get(name);
    if (member === undefined) throw new Error(`there is no ${name}`);
    return member;
  }

  pass(ms: number): void {
    for (const endAt = this.now + ms; this.now < endAt; this.now = instant(this.now + 10)) {
      for (const member of this.members.values()) this.do(member, member.wake(this.now));
    }
  }

  do(member: Member, effects: readonly MemberEffect[]): void {
    for (const effect of effects) {
      if (effect.do === 'send') {
        const to = this.members.get(effect.to);
        if (to === undefined || this.cuts.has(`${member.name} ${effect.to}`)) continue;
        this.do(to, to.receive(member.name, effect.message, this.now));
      } else if (effect.do === 'settle-send')
        this.told.push(`${member.name}: ${effect.id} ${effect.outcome}`);
      else if (effect.do === 'hand-over') this.told.push(`${member.name} hears ${effect.from.name}`);
      else if (effect.do === 'name-taken') this.told.push(`${member.name}: name taken`);
    }
  }

  cut(one: string, other: string): void {
    this.cuts.add(`${one} ${other}`);
    this.cuts.add(`${other} ${one}`);
  }
}

describe('a member', () => {
  it('is alone at first, and then in a view with every server that it reaches', () => {
    const group = new Group('a', 'b', 'c');
    const a = group.at('a');
    group.do(a, a.wake(group.now));
    expect(a.view?.members.map(({ name }) => name)).toEqual(['a']);
    group.pass(3_000);
    expect(a.view?.members.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
    expect(a.standing(group.now)).toBe('acts');
  });

  it('stops acting when its lease is over, whether or not it was woken', () => {
    const group = new Group('a', 'b');
    group.pass(5_000);
    expect(group.at('a').standing(group.now)).toBe('acts');
    expect(group.at('a').standing(instant(group.now + 1_500))).toBe('none');
  });

  it('sends over another server when the link is cut', () => {
    const group = new Group('a', 'b', 'c');
    group.pass(5_000);
    group.cut('a', 'b');
    group.pass(5_000);
    const a = group.at('a');
    expect(a.reach('b')).toBe('overlay');
    group.do(a, a.send('b', new Uint8Array(), group.now).effects);
    expect(group.told).toEqual(['b hears a', 'a: 1 delivered']);
  });

  it('passes a record on at once to a server that its publisher has no link to', () => {
    const group = new Group('a', 'b', 'c');
    group.pass(5_000);
    group.cut('a', 'b');
    group.pass(5_000);
    const a = group.at('a');
    group.do(a, a.report('c', group.now));
    const { record } = group.at('b').records.get('a') ?? {};
    expect(record?.cannotReach.map(({ name }) => name)).toEqual(['c']);
  });

  it('tells all members of the next view in which parts of the toolkit it takes part', () => {
    const group = new Group('a', 'b');
    group.pass(5_000);
    const [a, before] = [group.at('a'), group.at('b').view?.id];
    group.do(a, a.takePart('limits', true, group.now));
    group.do(a, a.takePart('limits', true, group.now));
    for (const name of ['a', 'b']) {
      expect(group.at(name).view?.id).not.toBe(before);
      expect(group.at(name).view?.id).toBe(a.view?.id);
      expect([...(group.at(name).view?.parts ?? [])]).toEqual([
        ['a', ['limits']],
        ['b', []],
      ]);
    }
    group.pass(1_000);
    group.do(a, a.takePart('limits', false, group.now));
    expect(group.at('b').view?.parts.get('a')).toEqual([]);
  });

  it('waits for the proposal of a member whose list has changed since, so that one view has one list of each member', () => {
    const group = new Group('a', 'b');
    group.pass(5_000);
    const records = ['a', 'b'].map((name) => group.at('a').records.get(name)?.record as ServerRecord);
    const [own, other] = records as [ServerRecord, ServerRecord];
    expect(viewOf(own.proposal, records, 'a')).toMatchObject({ id: group.at('a').view?.id });
    const later = { ...other, list: { ...other.list, version: 1, parts: ['limits'] } };
    expect(viewOf(own.proposal, [own, later], 'a')).toBeUndefined();
  });

  it('sends to nobody outside its view, nor to itself', () => {
    const group = new Group('a', 'b');
    group.pass(5_000);
    for (const name of ['a', 'z'])
      expect(group.at('a').send(name, new Uint8Array(), group.now).id).toBeUndefined();
  });

  it('fails what it sent when it leaves, and stays gone whatever the application reports', () => {
    const group = new Group('a', 'b');
    group.pass(5_000);
    group.cut('a', 'b');
    const a = group.at('a');
    group.do(a, a.send('b', new Uint8Array(), group.now).effects);
    group.do(a, a.leave(group.now));
    group.do(a, a.report('b', group.now));
    group.pass(1_000);
    expect(group.told).toEqual(['a: 1 no-view']);
    expect(a.records.get('a')?.record.hasLeft).toBe(true);
    expect(a.standing(group.now)).toBe('none');
  });

  it('may leave before it has said anything', () => {
    const group = new Group('a', 'b');
    const a = group.at('a');
    group.do(a, a.leave(group.now));
    group.pass(3_000);
    expect(group.at('b').view?.members.map(({ name }) => name)).toEqual(['b']);
  });

  it('takes a greater incarnation than any that is known of its name, and complains the third time', () => {
    const group = new Group('a', 'b');
    group.pass(5_000);
    const [a, other] = [group.at('a'), group.at('b').records.get('a')?.record as ServerRecord];
    for (const startedMs of [10, 20, 30]) {
      const record = { ...other, incarnation: { startedMs, nonce: 0 } };
      group.do(a, a.receive('b', { kind: 'records', records: [record] }, group.now));
      expect(a.id.incarnation.startedMs).toBe(startedMs + 1);
    }
    expect(group.told).toEqual(['a: name taken']);
  });

  it('remembers a bounded number of servers, however many names come and go', () => {
    const group = new Group('a', 'b');
    group.pass(5_000);
    const a = group.at('a');
    const sample = group.at('b').records.get('b')?.record as ServerRecord;
    let most = 0;
    for (let i = 0; i < 1_000; i++) {
      const record = { ...sample, name: `gone-${i}`, links: [] };
      group.do(a, a.receive('b', { kind: 'records', records: [record] }, group.now));
      group.now = instant(group.now + 3_600);
      a.wake(group.now);
      most = Math.max(most, a.records.size);
    }
    expect(most).toBeLessThan(200); // A thousand in an hour; each is forgotten after ten minutes.
    expect(most).toBeGreaterThan(100);
  });
});
