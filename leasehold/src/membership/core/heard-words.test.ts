import { expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { HeardWords } from './heard-words.ts';

const word = (startedMs: number, stampMs: number) => ({
  incarnation: { startedMs, nonce: 1 },
  stamp: instant(stampMs),
  echo: undefined,
  viewId: undefined,
});

it('echoes a process that restarted with a clock that went back', () => {
  const heard = new HeardWords();
  heard.hear('a', word(2_000, 900), instant(10));
  heard.hear('a', word(1_000, 5), instant(20));
  expect(heard.newestOf('a')).toEqual({
    echo: { incarnation: { startedMs: 1_000, nonce: 1 }, stamp: 5 },
    at: 20,
  });
});

it('echoes the newest stamp of a process, whichever arrives last', () => {
  const heard = new HeardWords();
  heard.hear('a', word(1_000, 7), instant(10));
  heard.hear('a', word(1_000, 5), instant(20));
  expect(heard.newestOf('a')).toMatchObject({ echo: { stamp: 7 }, at: 10 });
});
