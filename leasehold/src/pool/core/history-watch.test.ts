import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { HistoryWatch } from './history-watch.ts';

const spokenOf = (led: string): { history: string; term: number } => {
  const [history = '', term = '1'] = led.split('.');
  return { history, term: Number(term) };
};

/**
 * A watch over the Managers A and B, or others. The watch asks every 100 ms, or every 10 in doubt, and waits 40 for answers.
 * `round` plays one round: the history that each Manager leads, in term 1 or with its term (`x.2`), `-` for none. A Manager that is
 * left out does not answer. The id of a leader is that of the Manager.
 */
function watching(managers: string[] = ['A', 'B'], isLogShared = false) {
  const settings = { asker: 'me', managers };
  let ms = 0;
  let probes: ReturnType<HistoryWatch['wake']> = [];
  const watch = new HistoryWatch(settings, () => ({ everyMs: 100, soonMs: 10 }));
  const hear = (from: string, round: number, led: string): void => {
    const leads = led === '-' ? undefined : { ...spokenOf(led), leader: from, holdMs: 500, isLogShared };
    watch.hear(from, { kind: 'role', asker: 'me', round, leads }, instant(ms));
  };
  return {
    watch,
    settings,
    hear,
    permits: (spoken: string) => watch.permits(spokenOf(spoken), instant(ms)),
    /** Waits until a round is due, unless the end of the last one began another; answers, and waits until the round is over. */
    round(answers: Record<string, string>): void {
      if (probes.length === 0) {
        ms = Math.max(ms, watch.wakeAt ?? ms);
        probes = watch.wake(instant(ms));
      }
      const asked = probes;
      probes = [];
      for (const { to, message } of asked)
        if (answers[to] !== undefined) hear(to, message.round, answers[to]);
      if (asked.every(({ to }) => answers[to] !== undefined)) return;
      ms += 40;
      probes = watch.wake(instant(ms));
    },
    /** Time passes until the watch asks, and this is what it asks. */
    asks(): string[] {
      ms = Math.max(ms, watch.wakeAt ?? ms);
      return watch.wake(instant(ms)).map(({ to, message }) => `${to} in round ${message.round}`);
    },
    later(moreMs: number): void {
      ms += moreMs;
    },
    get ms() {
      return ms;
    },
  };
}

describe('Managers that lead one history', () => {
  it('do not disagree, and what they say may be used after the first round', () => {
    const { watch, round, permits } = watching(['A', 'B', 'C']);
    expect(permits('x')).toBe(false);
    round({ A: 'x', B: '-', C: '-' });
    expect(permits('x')).toBe(true);
    expect(permits('y')).toBe(false);
    round({ A: '-', B: 'x.2', C: '-' });
    expect(permits('x.2')).toBe(true);
    expect(watch.disagreement).toBeUndefined();
  });

  it('are not asked if there is only one', () => {
    const { watch, permits } = watching(['A']);
    expect(watch.wakeAt).toBeUndefined();
    expect(watch.wake(instant(1_000))).toEqual([]);
    expect(permits('x')).toBe(true);
  });

  it('permit any history while nobody leads, as when a standby serves a look-up', () => {
    const { round, permits } = watching();
    round({ A: '-', B: '-' });
    expect(permits('x')).toBe(true);
  });

  it('are waited for no longer than the patience, and not at all if they cannot be reached', () => {
    const { watch, hear, permits } = watching(['A', 'B', 'C']);
    watch.wake(instant(0));
    hear('A', 1, 'x');
    watch.unreachable('B', instant(5));
    expect(permits('x')).toBe(false);
    watch.unreachable('C', instant(6));
    expect(permits('x')).toBe(true);
    watch.wake(instant(100));
    watch.wake(instant(130));
    expect(watch.wakeAt).toBe(140);
    watch.wake(instant(140));
    expect(watch.wakeAt).toBe(200);
  });

  it('are asked again within a round until they answer', () => {
    const { watch, hear, asks, permits } = watching();
    expect(asks()).toEqual(['A in round 1', 'B in round 1']);
    hear('A', 1, 'x');
    expect(asks()).toEqual(['B in round 1']);
    expect(watch.wakeAt).toBe(20);
    expect(asks()).toEqual(['B in round 1']);
    hear('B', 1, '-');
    expect(permits('x')).toBe(true);
    expect(asks()).toEqual(['A in round 2', 'B in round 2']);
  });
});

describe('a history that replaces another', () => {
  it('is used once the old one was not heard for a hold', () => {
    const { watch, round, permits, later } = watching();
    round({ A: 'x', B: '-' });
    round({ B: '-' });
    round({ B: 'y' });
    round({ A: '-', B: 'y' });
    expect(watch.disagreement).toBeUndefined();
    expect([permits('x'), permits('y')]).toEqual([false, false]);
    later(500); // Nobody can hold keys under x any more.
    round({ A: '-', B: 'y' });
    expect([permits('x'), permits('y')]).toEqual([false, true]);
  });

  it('may be heard in the same round as the old one, and proves nothing by that', () => {
    const { watch, round, permits, later } = watching();
    round({ A: 'x', B: '-' });
    round({ A: 'x', B: 'y' });
    expect(watch.disagreement).toBeUndefined();
    expect([permits('x'), permits('y')]).toEqual([false, false]);
    round({ B: 'y' });
    later(500);
    round({ B: 'y' });
    expect(watch.disagreement).toBeUndefined();
    expect(permits('y')).toBe(true);
  });

  it('is not confused with the old one by an answer that comes too late', () => {
    const { watch, round, hear } = watching();
    round({ A: 'x', B: 'y' });
    hear('A', 1, 'x');
    round({ B: 'y' });
    hear('A', 2, 'x');
    round({ B: 'y' });
    expect(watch.disagreement).toBeUndefined();
  });
});

describe('two histories that are led at once', () => {
  it('are a disagreement after two rounds with both', () => {
    const { watch, round, permits } = watching();
    round({ A: 'x', B: 'y' });
    expect(watch.wakeAt).toBe(10); // The next round comes soon.
    round({ A: 'x', B: 'y' });
    expect(watch.disagreement).toEqual([
      { manager: 'A', history: 'x', term: 1 },
      { manager: 'B', history: 'y', term: 1 },
    ]);
    expect([permits('x'), permits('y')]).toEqual([false, false]);
  });

  it('are a disagreement although answers get lost', () => {
    const { watch, round } = watching();
    round({ A: 'x' });
    round({ B: 'y' });
    round({ A: 'x' });
    expect(watch.disagreement).toBeUndefined();
    round({ B: 'y' });
    expect(watch.disagreement).toHaveLength(2);
  });

  it('are a disagreement at one address too, behind which there are two Managers', () => {
    const { watch, round } = watching();
    for (const history of ['x', 'y', 'x', 'y']) round({ A: history, B: '-' });
    expect(watch.disagreement).toHaveLength(2);
  });

  it('agree again when one was not heard for its hold', () => {
    const scene = watching();
    const { watch, round, permits } = scene;
    round({ A: 'x', B: 'y' });
    round({ A: 'x', B: 'y' });
    const endsAt = scene.ms + 500;
    while (scene.ms < endsAt) {
      expect(watch.disagreement).toBeDefined();
      round({ A: 'x' });
    }
    expect(watch.disagreement).toBeUndefined();
    expect(permits('x')).toBe(true);
    round({ A: 'x', B: 'y' });
    round({ A: 'x', B: 'y' });
    expect(watch.disagreement).toBeDefined();
  });

  it('disagree as long as both are heard, although all answers of one come too late for their round', () => {
    const scene = watching();
    const { watch, round, hear } = scene;
    round({ A: 'x', B: 'y' });
    round({ A: 'x', B: 'y' });
    const calmUntil = scene.ms + 2_000;
    for (let late = 2; scene.ms < calmUntil; late += 1) {
      round({ A: 'x' });
      hear('B', late, 'y');
      expect(watch.disagreement).toHaveLength(2);
    }
  });

  it('disagree as long as nobody is heard, or both are', () => {
    const { watch, round, later } = watching();
    round({ A: 'x', B: 'y' });
    round({ A: 'x', B: 'y' });
    later(10_000);
    round({});
    round({ A: 'x', B: 'y' });
    expect(watch.disagreement).toBeDefined();
  });

  it('disagree until a hold is over although one was taken out of the list', () => {
    const { watch, round, settings, later } = watching();
    round({ A: 'x', B: 'y' });
    round({ A: 'x', B: 'y' });
    settings.managers = ['A'];
    round({ A: 'x' });
    expect(watch.disagreement).toBeDefined();
    later(500);
    round({ A: 'x' });
    expect(watch.disagreement).toBeUndefined();
  });
});

describe('an answer', () => {
  it('counts once, for the round and the client that asked, from an address that was asked', () => {
    const { watch, hear } = watching();
    watch.wake(instant(0));
    hear('stranger', 1, 'z');
    hear('A', 2, 'z');
    watch.hear(
      'B',
      {
        kind: 'role',
        asker: 'somebody else',
        round: 1,
        leads: { ...spokenOf('z'), leader: 'B', holdMs: 1, isLogShared: false },
      },
      instant(1),
    );
    hear('A', 1, 'x');
    hear('A', 1, 'z');
    hear('B', 1, '-');
    expect(watch.onlyLed).toBe('x');
  });
});

describe('two copies of one log', () => {
  it('are a disagreement at once if they are led in one term', () => {
    const { watch, round, permits } = watching();
    round({ A: 'x.2', B: 'x.2' });
    expect(watch.disagreement).toEqual([
      { manager: 'A', history: 'x', term: 2 },
      { manager: 'B', history: 'x', term: 2 },
    ]);
    expect(permits('x.2')).toBe(false);
  });

  it('are a disagreement if one process after the other says that it leads a term', () => {
    const { watch, round } = watching();
    round({ A: 'x.2', B: '-' });
    round({ B: 'x.2' });
    expect(watch.disagreement).toHaveLength(2);
  });

  it('end the word of the earlier term when the later one is heard, before the round is over', () => {
    const { watch, hear, round } = watching();
    round({ A: 'x', B: '-' });
    expect(watch.isOutdated(spokenOf('x'))).toBe(false);
    watch.wake(instant(100));
    hear('B', 2, 'x.2');
    expect(watch.isOutdated(spokenOf('x'))).toBe(true);
    expect(watch.isOutdated(spokenOf('x.2'))).toBe(false);
  });

  it('are followed as soon as the old leader leads no more, if they share the log', () => {
    const { watch, round, permits } = watching(['A', 'B'], true);
    round({ A: 'x', B: '-' });
    round({ A: 'x', B: 'x.2' });
    expect(permits('x.2')).toBe(false);
    round({ A: '-', B: 'x.2' });
    expect(permits('x.2')).toBe(true);
    expect(watch.disagreement).toBeUndefined();
  });

  it('permit nothing while both lead, until the earlier one was not heard for its hold', () => {
    const scene = watching();
    const { round, permits, later } = scene;
    round({ A: 'x', B: 'x.2' });
    expect(permits('x.2')).toBe(false);
    round({ B: 'x.2' });
    expect(permits('x.2')).toBe(false);
    later(500);
    expect(permits('x.2')).toBe(true);
  });

  it('are a disagreement if the earlier term is still led two holds after the later one was heard', () => {
    const scene = watching();
    const { watch, round } = scene;
    round({ A: 'x', B: 'x.2' });
    const provedAt = scene.ms + 1_000;
    while (scene.ms < provedAt) {
      expect(watch.disagreement).toBeUndefined();
      round({ A: 'x', B: 'x.2' });
    }
    expect(watch.disagreement).toHaveLength(2);
  });

  it('are followed again when one is gone for its hold, also if the earlier term is left', () => {
    const { watch, round, permits, later } = watching();
    round({ A: 'x.2', B: 'x.2' });
    round({ A: 'x.2', B: 'x.3' });
    later(500);
    round({ A: 'x.2', B: '-' });
    expect(watch.disagreement).toBeUndefined();
    expect([watch.isOutdated(spokenOf('x.2')), permits('x.2')]).toEqual([false, true]);
  });
});

describe('a leader that succeeds another', () => {
  it('is followed at once if the other one is silent, does not lead, or cannot be reached', () => {
    for (const answers of [{ B: 'x.2' }, { A: '-', B: 'x.2' }]) {
      const { watch, round, permits } = watching();
      round({ A: 'x', B: '-' });
      round(answers);
      expect([permits('x.2'), watch.isOutdated(spokenOf('x'))]).toEqual([true, true]);
    }
    const { watch, round, permits } = watching();
    round({ A: 'x', B: '-' });
    watch.unreachable('A', instant(1));
    expect(permits('x.2')).toBe(true);
  });

  it('is not followed before a round, if the other one led in the last', () => {
    const { watch, round, permits } = watching();
    round({ A: 'x', B: '-' });
    expect(permits('x.2')).toBe(false);
    watch.hurry();
    expect(watch.wakeAt).toBe(10);
    round({ A: '-', B: '-' });
    expect(permits('x.2')).toBe(true);
  });
});
