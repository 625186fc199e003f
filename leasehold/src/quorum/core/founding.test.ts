import { describe, expect, it } from 'vitest';
import { type Acquaintance, awaitedOf, clusterOf, foundersOf, type Hello, refusalOf } from './founding.ts';

const hello = (storage: string, facts: Partial<Hello> = {}): Hello => ({
  ...{ kind: 'hello', cell: 'g', storage, life: 1, process: `of ${storage}`, address: `${storage}:1` },
  ...{ initial: undefined, isJoining: false, cluster: undefined, ...facts },
});
const members = (...storages: readonly string[]) => storages.map((storage, seat) => ({ seat, storage }));

const LIST = ['a', 'b', 'c'];

describe('the founders of a cell', () => {
  it('are the names of the list, each with one directory that is there', () => {
    expect(foundersOf('a~1', LIST, [hello('c~1'), hello('b~1')])).toEqual(members('a~1', 'b~1', 'c~1'));
    expect(foundersOf('a~1', LIST, [hello('c~1'), hello('d~1')])).toBeUndefined();
    expect(awaitedOf('a~1', LIST, [hello('c~1'), hello('d~1')])).toEqual(['b']);
  });

  it.each([
    ['one of them joins', [hello('b~1'), hello('c~1', { isJoining: true })], ['c']],
    ['all others join', [hello('b~1', { isJoining: true }), hello('c~1', { isJoining: true })], ['b', 'c']],
    ['a name is there with two directories', [hello('b~1'), hello('b~2'), hello('c~1')], ['b']],
    [
      'one has founded a cell without this directory',
      [hello('b~1', { initial: members('a~0', 'b~1', 'c~1') }), hello('c~1')],
      ['b'],
    ],
    [
      'one has founded a cell of other names',
      [hello('b~1', { initial: members('a~1', 'b~1') }), hello('c~1')],
      ['b'],
    ],
  ])('are awaited if %s', (_, connected, awaited) => {
    expect(foundersOf('a~1', LIST, connected)).toBeUndefined();
    expect(awaitedOf('a~1', LIST, connected)).toEqual(awaited);
  });

  it('are those that another founder has written down, if this directory and the same names are among them', () => {
    const initial = members('a~1', 'b~1', 'c~1');
    expect(foundersOf('a~1', LIST, [hello('b~1', { initial })])).toEqual(initial);
  });
});

describe('a replica that introduces itself', () => {
  const own: Acquaintance = {
    ...{
      cell: 'g',
      storage: 'a~1',
      process: 'of a~1',
      awaited: undefined,
      joinable: undefined,
      cluster: 'one',
    },
    ...{ lives: { 'c~1': { life: 5, process: 'of c~1' } }, members: ['a~1', 'b~1', 'c~1'], removed: ['b~0'] },
  };

  it.each([
    ['a member', hello('b~1'), undefined],
    ['a replica that joins', hello('c~2', { isJoining: true }), undefined],
    ['of another cell', hello('b~1', { cell: 'h' }), 'another-cell'],
    ['a member of the same cluster', hello('b~1', { cluster: 'one' }), undefined],
    ['a member of another cluster', hello('b~1', { cluster: 'two' }), 'another-cluster'],
    ['a replica that joined elsewhere', hello('d~1', { isJoining: true, cluster: 'two' }), 'another-cluster'],
    ['a former member', hello('b~0', { isJoining: true }), 'removed'],
    ['an emptied directory', hello('c~2'), 'emptied-directory'],
    ['an unknown name', hello('d~1'), 'unknown-name'],
    ['an older life', hello('c~1', { life: 4 }), 'old-copy'],
    ['another process of the same life', hello('c~1', { life: 5, process: 'x' }), 'running-twice'],
    ['a copy of the own directory', hello('a~1', { process: 'x' }), 'running-twice'],
    ['the replica itself', hello('a~1'), 'own-address'],
  ])('as %s is told so', (_, introduced, reason) => {
    expect(refusalOf(own, introduced)).toBe(reason);
  });

  it('is heard by a replica that knows no members, unless the list does not have the name', () => {
    const alone = { ...own, members: [] };
    expect(refusalOf(alone, hello('c~2'))).toBeUndefined();
    expect(refusalOf({ ...alone, awaited: new Set(LIST) }, hello('d~1'))).toBe('unknown-name');
  });

  it('is not heard by a replica that waits for the founding as one of a cluster founded without that', () => {
    const waiting = { ...own, members: [], cluster: undefined, awaited: new Set(LIST) };
    const founded = (...storages: readonly string[]) =>
      hello('b~1', { cluster: 'one', initial: members(...storages) });
    expect(refusalOf(waiting, founded('a~1', 'b~1', 'c~1'))).toBeUndefined();
    expect(refusalOf(waiting, founded('a~0', 'b~1', 'c~1'))).toBe('another-cluster');
    expect(refusalOf(waiting, hello('b~1', { cluster: 'one', isJoining: true }))).toBe('another-cluster');
  });

  it('is heard by a replica that joins only as one of a cluster that the operator named', () => {
    const joining = { ...own, members: [], cluster: undefined, joinable: ['one'] };
    expect(refusalOf(joining, hello('b~1', { cluster: 'one' }))).toBeUndefined();
    expect(refusalOf(joining, hello('b~1', { cluster: 'two' }))).toBe('not-joined');
    expect(refusalOf(joining, hello('e~1', { isJoining: true }))).toBeUndefined();
  });
});

describe('the id of a cluster', () => {
  it('is the same for all founders, and another one for any other founding', () => {
    const id = clusterOf(members('a~1', 'b~2', 'c~3'));
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(clusterOf(members('c~3', 'a~1', 'b~2'))).toBe(id);
    expect(clusterOf(members('a~1', 'b~2', 'c~4'))).not.toBe(id);
    expect(clusterOf(members('a~1', 'b~2'))).not.toBe(id);
  });
});
