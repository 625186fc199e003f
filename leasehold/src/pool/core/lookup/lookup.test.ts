import { describe, expect, it } from 'vitest';
import { AssertionError } from '../../../runtime/assert.ts';
import { highOf, lowOf } from '../../../runtime/keys/position.ts';
import { type Instant, instant } from '../../../runtime/time.ts';
import type { Changes, TableRow } from '../messages.ts';
import { resolveDurations, lookupPace } from '../options.ts';
import { at, option, plainWords, play, showSpan, span } from '../script.ts';
import { ScriptedRoles } from '../roles-script.ts';
import { Lookup, type LookupEffect, type LookupSettings } from './lookup.ts';

/**
 * Plays a script to a look-up that knows the Managers m1 and m2. Every random draw of the look-up is the middle, which
 * is m2: the look-up syncs 9750 ms after an answer and asks again after 500. The look-up is cut off after 30 000
 * without a fresh answer.
 *
 *     wake
 *     changes <term> <from>..<to> <rows>      from m2, or from=<Manager>; answers=<sync> if an answer,
 *                                             of this incarnation, or to=<look-up>
 *     roles <Manager>=<history> …             see `../roles-script.ts`
 *     suspended
 *     find <sixteenth>                        > a#2, > nobody or > unknown
 *     age                                     > 10
 *
 * A row is `0-8:a#2`, or `0-8:a#2~5` if lost at position 5; `-` stands for nobody.
 */
function plays(script: string, resumeFrom?: LookupSettings['resumeFrom']): void {
  const lookup = lookupFrom(resumeFrom);
  const roles = new ScriptedRoles(script);
  const { went, written } = play(script, (verb, words, now) => {
    if (verb === 'find') return [found(lookup, Number(words[0]))];
    if (verb === 'age') return [String(lookup.ageMs(now))];
    const effects = verb === 'roles' ? roles.answer(lookup, words, now) : performed(lookup, verb, words, now);
    return roles.after(effects, lookup, now).flatMap(shown);
  });
  expect(went).toBe(written);
}

const lookupFrom = (resumeFrom?: LookupSettings['resumeFrom'], more: Partial<LookupSettings> = {}): Lookup =>
  new Lookup(
    {
      pool: 'p',
      id: 'l.1',
      managers: ['m1', 'm2'],
      durations: resolveDurations(),
      resumeFrom,
      random: () => 0.5,
      ...more,
    },
    instant(0),
  );

function performed(lookup: Lookup, verb: string, words: readonly string[], now: Instant): LookupEffect[] {
  switch (verb) {
    case 'wake':
      return lookup.wake(now);
    case 'changes':
      return lookup.receive(option(words, 'from') ?? 'm2', changesOf(words), now);
    case 'suspended':
      return lookup.suspended(now);
    default:
      throw new Error(`unknown in a script: ${verb}`);
  }
}

/** `every=<ms>`: how often to sync. */
const every = (words: readonly string[]): number | undefined => {
  const ms = option(words, 'every');
  return ms === undefined ? undefined : Number(ms);
};

function changesOf(words: readonly string[]): Changes {
  const [term, positions = '', ...rows] = plainWords(words);
  const [from, to] = positions.split('..').map(Number);
  const answers = option(words, 'answers');
  return {
    kind: 'changes',
    pool: option(words, 'pool') ?? 'p',
    history: option(words, 'history') ?? 'h',
    term: Number(term),
    from: from ?? 0,
    to: to ?? 0,
    rows: rows.map(row),
    answers:
      answers === undefined ? undefined : { lookup: option(words, 'to') ?? 'l.1', sequence: Number(answers) },
    pace: answers === undefined ? undefined : lookupPace(resolveDurations({ syncEveryMs: every(words) })),
  };
}

function row(text: string): TableRow {
  const [, place = '', name = '', number, lostAt] = /^(.+):(.+)#(\d+)(?:~(\d+))?$/.exec(text) ?? [];
  const owner = name === '-' ? undefined : { incarnation: `${name}.1`, name, url: `http://${name}` };
  return { ...span(place), owner, number: Number(number), lostAt: Number(lostAt ?? 0) };
}

function found(lookup: Lookup, sixteenth: number): string {
  const there = lookup.find(highOf(at(sixteenth)), lowOf(at(sixteenth)));
  if (there === undefined) return 'unknown';
  return there.owner === undefined ? 'nobody' : `${there.owner.name}#${there.number}`;
}

function shown(effect: LookupEffect): string[] {
  switch (effect.do) {
    case 'send': {
      if (effect.message.kind === 'probe') return [];
      const { seen, sequence } = effect.message;
      return [`${effect.to}: sync ${sequence}${seen === undefined ? '' : ` at ${seen.position}`}`];
    }
    case 'lost':
      return [`lost ${effect.ranges.spans().map(showSpan).join(' ')}, ${effect.why}`];
    case 'disagree':
      return [
        `disagree ${effect.histories.map(({ manager, history }) => `${manager}=${history}`).join(' ')}`,
      ];
    case 'agree':
      return ['agree'];
    case 'trace':
      return [];
  }
}

const OPENED = `
      0     wake
              > m2: sync 1
      10    changes 1 0..5 answers=1 0-8:a#2 8-16:b#3~4`;

describe('a look-up that has just been opened', () => {
  it('asks one Manager, then everybody, again and again, and knows nothing', () =>
    plays(`
      0     wake
              > m2: sync 1
      499   wake
      500   wake
              > m1: sync 2
              > m2: sync 2
      500   find 0
              > unknown
      500   age
              > Infinity
    `));

  it('takes over the whole table, of which nothing can have been lost for it', () =>
    plays(`${OPENED}
      20    find 7
              > a#2
      20    find 8
              > b#3
    `));

  it('can make nothing of mere changes', () =>
    plays(`
      0     wake
              > m2: sync 1
      10    changes 1 4..5 0-8:a#5
      20    find 0
              > unknown
    `));

  it('takes no notice of other pools', () =>
    plays(`
      0     wake
              > m2: sync 1
      10    changes 1 0..5 pool=other answers=1 0-16:a#2
      20    find 0
              > unknown
    `));

  it('syncs again after a while, with the Manager that answered', () =>
    plays(`
      0     wake
              > m2: sync 1
      10    changes 1 0..5 from=m1 answers=1 0-16:a#2
      9759  wake
      9760  wake
              > m1: sync 2 at 5
      10260 wake
              > m1: sync 3 at 5
              > m2: sync 3 at 5
    `));
});

describe('the random choice of a look-up', () => {
  const drawing = (draw: number): Lookup =>
    lookupFrom(undefined, { managers: ['m1', 'm2', 'm3'], random: () => draw });
  const asked = (effects: readonly LookupEffect[]): string[] =>
    effects.flatMap((effect) => (effect.do === 'send' && effect.message.kind === 'sync' ? [effect.to] : []));

  it('is which Manager it asks first, so that not all of them ask the same one', () => {
    const first = [0, 0.33, 0.34, 0.66, 0.67, 0.999].map((draw) => asked(drawing(draw).wake(instant(0))));
    expect(first).toEqual([['m1'], ['m1'], ['m2'], ['m2'], ['m3'], ['m3']]);
  });

  it('is when it syncs again, so that they do not all come at once: a little sooner, never later', () => {
    const next = [0, 0.5, 1].map((draw) => {
      const lookup = lookupFrom(undefined, { managers: ['m1'], random: () => draw });
      lookup.wake(instant(0));
      lookup.receive('m1', changesOf(['1', '0..5', 'answers=1', '0-16:a#2']), instant(10));
      return lookup.wakeAt - 10;
    });
    expect(next).toEqual([9_500, 9_750, 10_000]);
  });
});

describe('a loss', () => {
  it('is reported from a push', () =>
    plays(`${OPENED}
      20    changes 1 5..6 0-4:-#2~6
              > lost 0-4, reported
      20    find 0
              > nobody
      20    find 4
              > a#2
    `));

  it('is reported from the answer to a sync', () =>
    plays(`${OPENED}
      9760  wake
              > m2: sync 2 at 5
      9770  changes 1 5..9 answers=2 0-4:b#9~8 6-8:b#9~9
              > lost 0-4 6-8, reported
    `));

  it('is reported from a whole table alike: each row that was lost after where we were', () =>
    plays(`${OPENED}
      20    changes 1 0..90 0-4:a#2~5 4-8:b#90~6 8-12:b#3~4 12-16:b#88~87
              > lost 4-8 12-16, reported
    `));

  it('is reported once', () =>
    plays(`${OPENED}
      20    changes 1 5..6 0-4:b#6~6
              > lost 0-4, reported
      30    changes 1 5..6 0-4:b#6~6
      40    changes 1 0..6 0-4:b#6~6 4-8:a#2 8-16:b#3~4
      50    changes 1 6..7 0-4:b#7~6
    `));

  it('is reported once for two of the same keys between two syncs, and again if it happens again', () =>
    plays(`${OPENED}
      20    changes 1 5..9 0-4:b#9~9
              > lost 0-4, reported
      30    changes 1 9..12 0-4:a#12~11
              > lost 0-4, reported
    `));

  it('is not a change of owner or number alone', () =>
    plays(`${OPENED}
      20    changes 1 5..6 8-16:a#6~4
      20    find 8
              > a#6
    `));
});

describe('a push that was missed', () => {
  it('shows as a gap: nothing is taken over, and it syncs at once', () =>
    plays(`${OPENED}
      20    changes 1 6..7 0-4:b#7~7
              > m2: sync 2 at 5
      20    find 0
              > a#2
      30    changes 1 5..7 answers=2 0-4:b#7~7 4-8:-#2~6
              > lost 0-8, reported
    `));

  it('does not make it sync twice while an answer is awaited', () =>
    plays(`${OPENED}
      20    changes 1 6..7 0-4:b#7~7
              > m2: sync 2 at 5
      30    changes 1 7..8 0-4:b#8~8
    `));

  it('is no gap if it was of another pool: changes from an earlier position than ours can be used', () =>
    plays(`${OPENED}
      20    changes 1 2..7 0-4:b#7~7
              > lost 0-4, reported
    `));
});

describe('an answer that comes too late', () => {
  it('is of an older term, and has no effect, not even as an answer', () =>
    plays(`
      0     wake
              > m2: sync 1
      10    changes 2 0..5 answers=1 0-16:a#2
      9760  wake
              > m2: sync 2 at 5
      9770  changes 1 5..9 answers=2 0-4:b#9~9
      9780  find 0
              > a#2
      10260 wake
              > m1: sync 3 at 5
              > m2: sync 3 at 5
    `));

  it('is of an earlier position, and changes nothing, but proves that there is nothing newer', () =>
    plays(`${OPENED}
      20    changes 1 5..9 0-4:b#9~9
              > lost 0-4, reported
      9760  wake
              > m2: sync 2 at 9
      9770  changes 1 5..7 answers=2 0-4:a#7~7
      9780  find 0
              > b#9
      9780  age
              > 20
    `));
});

describe('a look-up that hears nothing', () => {
  it('reports everything as lost, and again every time that long passes', () =>
    plays(`${OPENED}
      29999 wake
              > m2: sync 2 at 5
      30000 wake
              > lost 0-16, cut-off
      59999 wake
              > m1: sync 3 at 5
              > m2: sync 3 at 5
      60000 wake
              > lost 0-16, cut-off
    `));

  it('is not kept in good faith by pushes: they do not say that they are all', () =>
    plays(`${OPENED}
      29000 changes 1 5..6 0-4:b#6
      30000 wake
              > lost 0-16, cut-off
              > m2: sync 2 at 6
    `));

  it('counts from when it sent the sync that was answered, not from the answer', () =>
    plays(`${OPENED}
      9760  wake
              > m2: sync 2 at 5
      20000 changes 1 5..5 answers=2
      39759 age
              > 29999
      39760 changes 1 5..5
              > lost 0-16, cut-off
    `));

  it('judges that before it reads what comes: an answer cannot undo what is too late', () =>
    plays(`${OPENED}
      9760  wake
              > m2: sync 2 at 5
      30000 changes 1 5..6 answers=2 0-4:b#6~6
              > lost 0-16, cut-off
              > lost 0-4, reported
    `));

  it('still says how old its table may be: to report everything does not make it any newer', () =>
    plays(`${OPENED}
      30000 wake
              > lost 0-16, cut-off
              > m2: sync 2 at 5
      30010 age
              > 30010
      30020 changes 1 5..5 answers=2
      30030 age
              > 30
    `));

  it('knows that it is cut off until a fresh answer comes', () => {
    const lookup = lookupFrom();
    lookup.wake(instant(0));
    expect([lookup.isCutOff, lookup.hasTable]).toEqual([false, false]);
    lookup.wake(instant(30_000));
    expect(lookup.isCutOff).toBe(true);
    lookup.receive('m1', changesOf(['1', '0..5', 'answers=2', '0-16:a#2']), instant(30_010));
    expect([lookup.isCutOff, lookup.hasTable]).toEqual([false, true]);
  });
});

describe('an answer', () => {
  it('to a sync that it never sent proves nothing', () =>
    plays(`${OPENED}
      20    changes 1 5..5 answers=9
      29999 age
              > 29999
    `));

  it('to what an earlier incarnation asked proves nothing, though it had the same number', () =>
    plays(`${OPENED}
      9760  wake
              > m2: sync 2 at 5
      9770  changes 1 5..6 answers=2 to=l.0 0-4:b#6~6
              > lost 0-4, reported
      9780  age
              > 9780
      10260 wake
              > m1: sync 3 at 6
              > m2: sync 3 at 6
    `));
});

describe('a look-up that goes on where an earlier one stopped', () => {
  it('reports at the first answer what was lost since', () =>
    plays(
      `
      0     wake
              > m2: sync 1
      10    changes 1 0..9 answers=1 0-4:a#2~7 4-8:a#2~8 8-16:b#9~9
              > lost 4-16, reported
    `,
      { history: 'h', position: 7 },
    ));

  it('reports everything if the log is another', () =>
    plays(
      `
      0     wake
              > m2: sync 1
      10    changes 1 0..3 history=new answers=1 0-16:a#2
              > lost 0-16, history-changed
      20    find 0
              > a#2
    `,
      { history: 'h', position: 7 },
    ));
});

describe('a log with another history', () => {
  it('is asked about when somebody speaks of it: a push can be a word from the past', () =>
    plays(`${OPENED}
      20    changes 9 0..6 history=other 0-16:b#6
              > m2: sync 2 at 5
      30    find 8
              > b#3
    `));

  it('has lost everything, once it answers, and what is known of the old one is of no use', () =>
    plays(`${OPENED}
      20    changes 1 5..6 history=new 0-4:b#6
              > m2: sync 2 at 5
      30    changes 1 0..6 history=new answers=2 0-16:b#6~5
              > lost 0-16, history-changed
      40    find 8
              > b#6
    `));

  it('replaces the old one for good: what is said of that has no effect, not even as an answer', () =>
    plays(`${OPENED}
      20    changes 1 5..6 history=new 0-4:b#6
              > m2: sync 2 at 5
      30    changes 1 0..6 history=new answers=2 0-16:b#6
              > lost 0-16, history-changed
      40    changes 7 0..99 answers=2 0-16:a#99~99
      520   wake
              > m1: sync 3 at 6
              > m2: sync 3 at 6
      530   changes 7 0..99 answers=3 0-16:a#99~99
      531   find 0
              > b#6
      540   changes 1 6..7 history=new answers=3 0-4:a#7~7
              > lost 0-4, reported
    `));
});

describe('a machine that was suspended', () => {
  it('has lost everything, believes no answer to what it asked before, and asks at once', () =>
    plays(`${OPENED}
      9760  wake
              > m2: sync 2 at 5
      9800  suspended
              > lost 0-16, suspended
      9800  wake
              > m1: sync 3 at 5
              > m2: sync 3 at 5
      9810  changes 1 5..5 answers=2
      9820  age
              > Infinity
      9830  changes 1 5..5 answers=3
      9840  age
              > 40
    `));
});

describe('a look-up that resumes from further on than there is', () => {
  it('takes everything for lost: the log went back in time', () =>
    plays(
      `
      0     wake
              > m2: sync 1
      10    changes 1 0..6 0-16:a#5~6 answers=1
              > lost 0-16, history-changed
    `,
      { history: 'h', position: 16 },
    ));
});

describe('the pace of a look-up', () => {
  it('is what the last answer said', () =>
    plays(`
      0     wake
              > m2: sync 1
      10    changes 1 0..5 0-16:a#5 answers=1 every=20000
      19509 wake
      19510 wake
              > m2: sync 2 at 5
    `));

  it('is its own in what it insists on', () => {
    const lookup = lookupFrom(undefined, { managers: ['m1'], insists: { syncEveryMs: 1_000 } });
    lookup.wake(instant(0));
    performed(lookup, 'changes', ['1', '0..5', '0-16:a#5', 'answers=1', 'every=20000'], instant(10));
    expect(lookup.wakeAt).toBe(985);
  });
});

describe('the instants a look-up wants to be woken at', () => {
  it('are its next sync, or when it would be cut off if that is sooner', () => {
    const lookup = lookupFrom(undefined, { managers: ['m1'] });
    expect(lookup.wakeAt).toBe(0);
    lookup.wake(instant(0));
    expect(lookup.wakeAt).toBe(500);
    lookup.receive('m1', changesOf(['1', '0..5', 'answers=1', '0-16:a#2']), instant(10));
    expect(lookup.wakeAt).toBe(9_760);
    lookup.wake(instant(29_900));
    expect(lookup.wakeAt).toBe(30_000);
  });

  it('are told by a clock that never goes back', () => {
    const lookup = lookupFrom();
    lookup.wake(instant(10));
    expect(() => lookup.wake(instant(9))).toThrow(AssertionError);
  });
});

describe('a look-up whose Managers lead different histories', () => {
  it('uses no table before every Manager was asked', () =>
    plays(`
      0     wake
              > m2: sync 1
      10    changes 1 0..5 answers=1 history=x 0-16:a#2
      10    find 0
              > unknown
      20    roles m1=- m2=x
      20    find 0
              > a#2
    `));

  it('drops its table and reports everything as lost, until one has been gone for a hold, and shows how far it had read', () =>
    plays(`
      0     wake
              > m2: sync 1
      5     roles m1=- m2=x
      10    changes 1 0..5 answers=1 history=x 0-16:a#2
      10000 wake
              > m2: sync 2 at 5
      10005 roles m1=y m2=x
      10006 changes 1 5..5 answers=2 history=x
      10500 wake
              > m1: sync 3 at 5
              > m2: sync 3 at 5
      10505 roles m1=y m2=x
              > disagree m1=y m2=x
              > lost 0-16, managers-disagree
      10505 find 0
              > unknown
      11000 wake
              > m1: sync 4 at 5
              > m2: sync 4 at 5
      11005 changes 1 0..9 answers=4 history=x 0-16:a#2
      11005 find 0
              > unknown
      11010 roles m1=- m2=x
      21500 wake
              > m1: sync 5 at 5
              > m2: sync 5 at 5
      21505 roles m1=- m2=x
              > agree
      21510 changes 1 5..9 answers=5 history=x 0-16:a#2
      21510 find 0
              > unknown
      22000 wake
              > m1: sync 6
              > m2: sync 6
      22010 changes 1 0..9 answers=6 history=x 0-16:a#2
      22010 find 0
              > a#2
    `));
});
