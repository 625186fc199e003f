import { describe, expect, it } from 'vitest';
import { digest } from '../../../runtime/digest.ts';
import type { Instant } from '../../../runtime/time.ts';
import { play } from '../../core/script.ts';
import { Certifier, type CertifierEffect } from './certifier.ts';

// In these scripts an answer is awaited for 500 ms and the whole goes on for 10 s, or for 3 s if no Manager
// was ever reached; the Managers are m1 and m2 unless `managers` says otherwise, and the secret is s.

/** @param before what has happened before the script begins */
function playCertifier(script: string, before: 'm1 reached' | 'nothing' = 'm1 reached'): void {
  let managers: readonly string[] = ['m1', 'm2'];
  const certifier = new Certifier({
    secret: 's',
    managers: () => managers,
    retryMs: 500,
    forMs: 10_000,
    unreachedForMs: 3_000,
    random: () => 0.5,
  });
  if (before === 'm1 reached') certifier.connected('m1');
  const perform = (verb: string, words: readonly string[], now: Instant): CertifierEffect[] => {
    switch (verb) {
      case 'died':
        return certifier.died(now);
      case 'wake':
        return certifier.wake(now);
      case 'connected':
        return certifier.connected(words[0] ?? '');
      case 'certified':
        return certifier.receive({ kind: 'certified', proof: digest(words[0] ?? '') }, now);
      case 'hurry':
        return certifier.hurry(now);
      case 'managers':
        managers = words;
        return [];
      default:
        throw new Error(`unknown in a script: ${verb}`);
    }
  };
  const { went, written } = play(script, (verb, words, now) =>
    verb === 'when' ? [`wakes at ${certifier.wakeAt}`] : perform(verb, words, now).map(shown),
  );
  expect(went).toBe(written);
}

function shown(effect: CertifierEffect): string {
  switch (effect.do) {
    case 'send':
      return `${effect.to}: secret ${effect.message.secret}`;
    case 'wait':
      return `wait ${effect.forMs}${effect.hasReached ? '' : ', nobody reached'}`;
    case 'certified':
      return `certified ${effect.afterMs}`;
    case 'ran-out':
      return `ran-out ${effect.afterMs}${effect.hasReached ? '' : ', nobody reached'}`;
  }
}

describe('before the death', () => {
  it('nobody hears of the secret, whatever happens', () =>
    playCertifier(
      `
      0     connected m1
      10    wake
      20    hurry
      30    certified s
      40    when
              > wakes at Infinity
    `,
      'nothing',
    ));
});

describe('after the death', () => {
  it('every Manager hears of it at once', () =>
    playCertifier(`
      5     died
              > m1: secret s
              > m2: secret s
    `));

  it('the Managers hear of it again until one has answered, and then no more', () =>
    playCertifier(`
      0     died
              > m1: secret s
              > m2: secret s
      499   wake
      500   wake
              > m1: secret s
              > m2: secret s
              > wait 9500
      700   certified s
              > certified 700
      1000  wake
      1001  connected m1
      1002  certified s
      1003  died
      1004  when
              > wakes at Infinity
    `));

  it('an answer about another death changes nothing', () =>
    playCertifier(`
      0     died
              > m1: secret s
              > m2: secret s
      10    certified other
      500   wake
              > m1: secret s
              > m2: secret s
              > wait 9500
    `));

  it('a Manager that has become reachable hears of it without waiting for the next turn', () =>
    playCertifier(`
      0     managers
      0     died
      120   managers m3
      120   connected m3
              > m3: secret s
      500   wake
              > m3: secret s
              > wait 9500
    `));

  it('dying twice is dying once', () =>
    playCertifier(`
      0     died
              > m1: secret s
              > m2: secret s
      1     died
    `));
});

describe('when no Manager answers', () => {
  it('the certifier says once that it waits, and for how long', () =>
    playCertifier(`
      0      managers
      0      died
      500    wake
               > wait 9500
      1000   wake
      1500   wake
    `));

  it('the certifier gives up at the deadline and says so', () =>
    playCertifier(`
      0      managers
      0      died
      9900   wake
               > wait 100
      9901   when
               > wakes at 10000
      10000  wake
               > ran-out 10000
      10001  connected m1
      10002  certified s
    `));

  it('the certifier goes on for two seconds when asked to end, and not at all when asked again', () =>
    playCertifier(`
      0      managers
      0      died
      500    wake
               > wait 9500
      600    hurry
      1000   wake
      1500   wake
      1600   hurry
               > ran-out 1600
    `));

  it('being asked to end does not make it go on for longer', () =>
    playCertifier(`
      0      managers
      0      died
      9000   wake
               > wait 1000
      9001   hurry
      9500   wake
      10000  wake
               > ran-out 10000
    `));

  it('an answer is still welcome when it has been asked to end', () =>
    playCertifier(`
      0      managers
      0      died
      10     hurry
      20     certified s
               > certified 20
    `));
});

describe('when no Manager was ever reached', () => {
  it('the certifier does not wait for long: an owner without a Manager had no lease to be freed', () =>
    playCertifier(
      `
      0      managers
      0      died
      500    wake
               > wait 2500, nobody reached
      1000   wake
      3000   wake
               > ran-out 3000, nobody reached
    `,
      'nothing',
    ));

  it('one that is reached after all is worth waiting for as usual', () =>
    playCertifier(
      `
      0      managers
      0      died
      500    wake
               > wait 2500, nobody reached
      2900   connected m1
               > m1: secret s
      3000   wake
               > wait 7000
      10000  wake
               > ran-out 10000
    `,
      'nothing',
    ));

  it('a supervisor that was asked to end does not wait for a Manager that was never reached', () =>
    playCertifier(
      `
      0      managers
      0      died
      100    hurry
      1500   connected m1
               > m1: secret s
      2100   wake
               > ran-out 2100
    `,
      'nothing',
    ));
});
