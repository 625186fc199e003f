import { describe, expect, it } from 'vitest';
import { playOwner } from './owner-script.ts';

function plays(script: string): void {
  const { went, written } = playOwner(script);
  expect(went).toBe(written);
}

const GRANTED = `
      0     wake
              > m1: report 1?
              > m2: report 1?
      10    update 1.1 ack=1 0-8#2
              > admitted
              > granted 0-8#2
              > m1: report 2, held 0-8#2
      20    hold 4
              > handle #2`;

describe('a handle', () => {
  it('is had only of a key that is held', () =>
    plays(`${GRANTED}
      20    hold 12
              > not held
    `));

  it('is continuous as long as the key is held', () =>
    plays(`${GRANTED}
      8999  ask
              > continuous
      9000  ask
              > broken
    `));

  it('stays so when a lapsed lease is continued under another number', () =>
    plays(`${GRANTED}
      9000  wake
              > lapsed 0-8#2
              > m1: report 3, let go lapsed:0-8#2
              > m1: report 4?, let go lapsed:0-8#2
      9010  ask
              > broken
      9020  update 1.2 ack=4 0-8#5<0-8#2
              > resumed 0-8#5
              > m1: report 5, held 0-8#5
      9030  ask
              > continuous
    `));

  it('is worth nothing once the key was given to another, also when it comes back', () =>
    plays(`${GRANTED}
      30    update 1.2 ack=2 0-8#2!
              > revoking 0-8#2
              > dropped 0-8#2
              > m1: report 3, let go released:0-8#2
      40    update 1.3 ack=3
              > m1: report 4
      50    update 1.4 ack=4 0-8#9
              > granted 0-8#9
              > m1: report 5, held 0-8#9
      60    ask
              > broken
    `));
});
