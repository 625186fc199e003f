import { describe, expect, it } from 'vitest';
import type { OwnProcess } from '../../../node/process/own-process.ts';
import {
  explainRefusal,
  formatLetter,
  formatSummons,
  mayNotRead,
  parseLetter,
  parseSummons,
  type Refusal,
} from './handover.ts';

const summons = { supervisorPid: 4711, pidNamespace: '4026531836', descriptor: 3 };
const child: OwnProcess = { pid: 4712, parentPid: 4711, pidNamespace: '4026531836', isMainThread: true };

describe('the variable', () => {
  it('says who the supervisor is and where to read', () => {
    expect(formatSummons(summons)).toBe('4711:4026531836:3');
    expect(parseSummons('4711:4026531836:3')).toEqual(summons);
  });

  it('has a dash where there are no namespaces', () => {
    const plain = { ...summons, pidNamespace: undefined };
    expect(formatSummons(plain)).toBe('4711:-:3');
    expect(parseSummons('4711:-:3')).toEqual(plain);
  });

  it.each(['', '4711', '4711:-:-1', '4711:-:3 ', ':-:3', '4711::3', 'x:-:3', '4711:-:99999'])(
    'is nothing if it is not exactly that: "%s"',
    (text) => expect(parseSummons(text)).toBeUndefined(),
  );
});

describe('the descriptor may be read', () => {
  it('by the child itself', () => {
    expect(mayNotRead(summons, child)).toBeUndefined();
    const plain = { ...summons, pidNamespace: undefined };
    expect(mayNotRead(plain, { ...child, pidNamespace: undefined })).toBeUndefined();
  });

  it.each<[string, Partial<OwnProcess>, Refusal]>([
    ['whose parent is another: a grandchild, a worker, an orphan', { parentPid: 4712 }, 'not-the-child'],
    ['in another pid namespace, whatever the numbers', { pidNamespace: '4026532999' }, 'other-namespace'],
    ['that cannot tell its namespace', { pidNamespace: undefined }, 'other-namespace'],
    ['in a worker thread of the child', { isMainThread: false }, 'worker-thread'],
  ])('by no process %s', (_, difference, refusal) => {
    expect(mayNotRead(summons, { ...child, ...difference })).toBe(refusal);
  });

  it('explain to a process that may not use the secret what would help', () => {
    expect(explainRefusal('not-the-child')).toContain('leasehold run -- node server.js');
    expect(explainRefusal('other-namespace')).toContain('inside of the container');
    expect(explainRefusal('worker-thread')).toContain('main thread');
    expect(explainRefusal('no-letter')).toContain('have to expire');
  });
});

describe('the letter', () => {
  const secret = '0123456789abcdef'.repeat(4);

  it('names the child and carries the secret', () => {
    const letter = { childPid: 4712, secret };
    expect(parseLetter(formatLetter(letter).trimEnd())).toEqual(letter);
  });

  it.each([
    '',
    '4712',
    `4712 ${'ab'.repeat(15)}`,
    `4712 ${'A'.repeat(64)}`,
    `4712 ${secret} `,
    `-1 ${secret}`,
  ])('is nothing if it is not exactly that: "%s"', (line) => expect(parseLetter(line)).toBeUndefined());
});
