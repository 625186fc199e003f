import { describe, expect, it } from 'vitest';
import { threeOwners, waiting } from '../../../leasehold/src/pool/shell/service/source-script.ts';
import { served } from './testing/served-manager.ts';

const LINE =
  'This Manager has just begun to lead, and waits 9 s more for leases of an earlier Manager to expire. Owners with such leases may serve their keys until then.';

async function printed(...argv: readonly string[]): Promise<string> {
  await using manager = await served(waiting());
  const { code, printed: text } = await manager.run(...argv);
  expect(code).toBe(0);
  return text;
}

describe('of a Manager that has just begun to lead, and waits for what an earlier one may have given', () => {
  it('lookup does not say that nobody owns a key', async () => {
    const [head, row = '', ...rest] = (await printed('pool', 'find', 'presence', 'a')).split('\n');
    expect(head).toMatch(/^KEY +OWNER +URL +NUMBER$/);
    expect(row.replace(/ {2,}/g, '|')).toBe('a|not known yet|-|-');
    expect(rest).toEqual(['', LINE, '']);
  });

  it('explain says why it is not known', async () => {
    const text = (await printed('pool', 'explain', 'presence', 'a')).replace(/\s+/g, ' ');
    expect(text).toContain(
      'Its owner is not known yet: this Manager has just begun to lead, and waits 9.0 s more',
    );
    expect(text).not.toMatch(/[Nn]obody|never lost/);
  });

  it('status says for how much longer it waits', async () => {
    expect(await printed('status')).toContain(
      '  waits        9 s more for leases of an earlier leader to expire; then it grants keys\n',
    );
  });

  it('status does not count owners and ranges that it cannot know of yet', async () => {
    const text = await printed('status');
    expect(text).toContain('  members      owners not known yet, 0 look-ups');
    expect(text).toContain('  ranges       not known yet\n');
  });

  it('status of a pool does not say that all of it is unowned, nor that there are no owners', async () => {
    const text = await printed('pool', 'status', 'presence');
    expect(text).toMatch(/^Pool presence: owners not known yet, 0 look-ups, /);
    expect(text).toContain('  keys         it is not known yet how many are unowned\n');
    expect(text).not.toContain('100 %');
    expect(text).toContain(LINE);
  });

  it('pools does not say so either', async () => {
    const text = await printed('pool', 'list');
    expect(text).toMatch(/^presence +0 +0 +1 +not known yet +- /m);
    expect(text).toContain(LINE);
  });

  it('pools says of one that has heard nobody yet that none are known, not that there are none', async () => {
    const manager = waiting();
    manager.candidates.length = 0;
    await using server = await served(manager);
    expect((await server.run('pool', 'list')).printed).toBe(`No pools are known yet.\n\n${LINE}\n`);
  });
});

describe('of a Manager that does not wait', () => {
  it('nothing is said of it', async () => {
    await using manager = await served(threeOwners());
    for (const words of [
      ['pool', 'list'],
      ['status'],
      ['pool', 'status', 'presence'],
      ['pool', 'find', 'presence', 'a'],
    ])
      expect((await manager.run(...words)).printed).not.toMatch(/wait|not known yet/);
  });
});
