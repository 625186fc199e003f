import { describe, expect, it } from 'vitest';
import { complaintsAbout } from './exposition.ts';

const GOOD = [
  '# HELP a_total How many.',
  '# TYPE a_total counter',
  'a_total{pool="p\\"q",b="x"} 3',
  'a_total 4',
  '# HELP b_seconds How long.',
  '# TYPE b_seconds histogram',
  'b_seconds_bucket{le="0.1"} 1',
  'b_seconds_bucket{le="+Inf"} 2',
  'b_seconds_sum 0.7',
  'b_seconds_count 2',
  '# HELP c Now.',
  '# TYPE c gauge',
  'c NaN',
  '',
].join('\n');

describe('a text of metrics', () => {
  it('is read as Prometheus would', () => {
    expect(complaintsAbout(GOOD)).toEqual([]);
  });

  it.each([
    ['the last line has no end', GOOD.slice(0, -1)],
    ['not a sample', GOOD.replace('a_total 4', 'a_total four')],
    ['not a sample', GOOD.replace('b="x"', 'pool="x"')],
    ['not a sample', GOOD.replace('p\\"q', 'p"q')],
    ['a second TYPE', GOOD.replace('# TYPE c gauge', '# TYPE c gauge\n# TYPE c gauge')],
    ['after its samples', `${GOOD}# TYPE d gauge\nd 1\n# HELP d Late.\n`],
    ['in several places', `${GOOD}a_total{pool="z"} 1\n`],
    ['there twice', GOOD.replace('c NaN', 'c 1\nc 2')],
    ['there is no type', GOOD.replace('c gauge', 'c gadget')],
    ['has no help', GOOD.replace('# HELP c Now.\n', '')],
    ['has no type', GOOD.replace('# TYPE c gauge\n', '')],
    ['a counter ends in _total', GOOD.replaceAll('a_total', 'a')],
    [
      'only a counter',
      GOOD.replaceAll(/\bc\b(?=.*$)/gm, 'c_total').replace('c_total gauge', 'c_total gauge'),
    ],
    ['a counter is -1', GOOD.replace('a_total 4', 'a_total -1')],
    ['seconds, bytes, ratios', GOOD.replaceAll('b_seconds', 'b_ms')],
    ['not +Inf', GOOD.replace('+Inf', '7')],
    ['does not follow', GOOD.replace('le="0.1"} 1', 'le="0.1"} 3')],
    ['its count is another', GOOD.replace('count 2', 'count 3')],
    ['no sum', GOOD.replace('b_seconds_sum 0.7\n', '')],
  ])('is complained about: %s', (complaint, text) => {
    expect(complaintsAbout(text).join('\n')).toContain(complaint);
  });
});
