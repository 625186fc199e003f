import { describe, expect, it } from 'vitest';
import { compareAndSet, put } from './operation.ts';
import { LEASE_MS, Trio } from './testing/trio.ts';

const value = new Uint8Array([1]);

describe('a claim on a key', () => {
  it('is told at once, for at most a lease, and extended with every renewal', () => {
    const trio = new Trio();
    trio.claimed('b');
    trio.pass(2 * LEASE_MS);
    const extensions = (trio.effects.get('b') ?? []).filter((effect) => effect.do === 'claim-extended');
    expect(extensions.length).toBeGreaterThan(4);
    expect(trio.story('b')[0]).toBe('extended');
    expect(Math.max(...extensions.map(({ until }) => until - trio.now))).toBeLessThanOrEqual(LEASE_MS);
  });

  it('ends before the replica acknowledges another write of the key', () => {
    const trio = new Trio();
    const slot = Math.floor(trio.claimed('b') / 4_096);
    const written = trio.submit('a', put('term', value));
    const later = Math.floor(('revision' in written ? written.revision : 0) / 4_096);
    expect(later).toBeGreaterThan(slot);
    const story = trio.story('b');
    expect(story).toContain('ended: overwritten');
    expect(story.indexOf('ended: overwritten')).toBeLessThan(story.indexOf(`up to ${later}`));
    expect(story.slice(story.indexOf('ended: overwritten'))).not.toContain('extended');
  });

  it('is not ended by a write that names another revision of the key', () => {
    const trio = new Trio();
    const revision = trio.claimed('b');
    trio.submit('a', compareAndSet({ key: 'term', is: 'revision', revision: revision - 1 }, value));
    trio.submit('a', compareAndSet({ key: 'term', is: 'absent' }, value));
    expect(trio.story('b')).not.toContain('ended: overwritten');
    trio.submit('a', compareAndSet({ key: 'term', is: 'revision', revision }, value));
    expect(trio.story('b')).toContain('ended: overwritten');
  });

  it('ends before the replica acknowledges a configuration under which it does not hold the key', () => {
    const trio = new Trio();
    const { follower } = trio;
    trio.claimed(follower);
    trio.place('leader');
    trio.pass(50);
    const story = trio.story(follower);
    const { log } = trio.replica(follower).view;
    const acknowledged = story.indexOf(`up to ${log.newestConfigurationSlot}`);
    expect(story).toContain('ended: shortened');
    expect(acknowledged).toBeGreaterThan(story.indexOf('ended: shortened'));
  });

  it('is not told before every configuration that counts lets the replica hold the key', () => {
    const trio = new Trio('leader');
    const { follower } = trio;
    trio.claimed(follower);
    trio.pass(LEASE_MS);
    expect(trio.story(follower)).not.toContain('extended');
    trio.place('all');
    let wasBetween = false;
    while (!trio.story(follower).includes('extended') && trio.step()) {
      const counting = trio.replica(follower).view.log.countingConfigurations.length;
      wasBetween ||= counting > 1;
    }
    expect(wasBetween).toBe(true);
    expect(trio.story(follower)).toContain('extended');
    expect(trio.replica(follower).view.log.countingConfigurations).toHaveLength(1);
  });

  it('ends with a suspension, and with a release before the grantors hear of the release', () => {
    const suspended = new Trio();
    suspended.claimed('b');
    suspended.input('b', (replica) => replica.suspended(suspended.now));
    expect(suspended.story('b').at(-1)).toBe('ended: shortened');
    const released = new Trio();
    released.claimed('b');
    released.input('b', (replica) => replica.release(released.now));
    const effects = released.effects.get('b') ?? [];
    const end = effects.findIndex((effect) => effect.do === 'claim-ended');
    const said = effects.findIndex((effect) => effect.do === 'send' && effect.message.kind === 'release');
    expect(end).toBeGreaterThanOrEqual(0);
    expect(end).toBeLessThan(said);
  });
});
