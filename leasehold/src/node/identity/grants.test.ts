import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Dice } from '../../runtime/dice.ts';
import { ALL, ANY, type Claim, grantsText, mayBe, parseGrants, readGrants, readHosts } from './grants.ts';

const SERVER_B: Claim = { role: 'server', module: 'membership', instance: 'default', name: 'b' };
const may = (written: string, claim: Partial<Claim>): boolean =>
  mayBe(readGrants(written), { ...SERVER_B, ...claim });

describe('a grant', () => {
  it('covers its own role, module, instance and name', () => {
    expect(may('server:membership/default/b', {})).toBe(true);
    expect(may('server:membership/default/b', { name: 'c' })).toBe(false);
    expect(may('server:membership/default/b', { instance: 'other' })).toBe(false);
    expect(may('server:membership/default/b', { module: 'flease' })).toBe(false);
  });

  it('covers all values of a part that is left out or is *', () => {
    expect(may('server:membership', {})).toBe(true);
    expect(may('server:*', {})).toBe(true);
    expect(may('server:membership/*/b', { name: 'c' })).toBe(false);
  });

  it('covers the values with the beginning before a *', () => {
    expect(may('server:membership/default/web-*', { name: 'web-3' })).toBe(true);
    expect(may('server:membership/default/web-*', { name: 'web-' })).toBe(true);
    expect(may('server:membership/default/web-*', { name: 'web' })).toBe(false);
    expect(may('server:membership/default/web', { name: 'web-3' })).toBe(false);
  });

  it('includes the roles below it and no other', () => {
    const roles = ['server', 'owner', 'client', 'reader', 'operator'] as const;
    const included = (role: string): string[] =>
      roles.filter((wanted) => may(`${role}:membership`, { role: wanted }));
    expect(included('server')).toEqual(['server', 'client', 'reader']);
    expect(included('owner')).toEqual(['owner', 'client', 'reader']);
    expect(included('client')).toEqual(['client', 'reader']);
    expect(included('reader')).toEqual(['reader']);
    expect(included('operator')).toEqual(['reader', 'operator']);
  });

  it('suffices for an unknown value if it covers any, and for all values if it covers all', () => {
    expect(
      may('owner:pool/presence/web-1', { role: 'owner', module: 'pool', instance: ANY, name: ANY }),
    ).toBe(true);
    expect(may('reader:pool/presence', { role: 'reader', module: 'pool', instance: ALL, name: ANY })).toBe(
      false,
    );
    expect(may('reader:pool', { role: 'reader', module: 'pool', instance: ALL, name: ALL })).toBe(true);
    expect(may('reader:pool', { role: 'reader', module: ALL, instance: ALL, name: ALL })).toBe(false);
    expect(may('viewer', { role: 'reader', module: ALL, instance: ALL, name: ALL })).toBe(true);
  });

  it('is case-sensitive', () => {
    expect(may('server:membership/default/WEB-*', { name: 'web-1' })).toBe(false);
    expect(may('server:membership/default/WEB-*', { name: 'WEB-1' })).toBe(true);
  });

  it('gives nothing to names that contain the separators of grants', () => {
    const evil = 'x|server:*';
    const text = grantsText(readGrants('client:membership/default/x%7cserver%3a%2a'));
    expect(text).toBe('client:membership/default/x%7cserver%3a%2a');
    const grants = parseGrants(text) ?? [];
    expect(mayBe(grants, { ...SERVER_B, role: 'client', name: evil })).toBe(true);
    expect(mayBe(grants, SERVER_B)).toBe(false);
  });
});

describe('the text of grants', () => {
  it('is read back to the same grants, whatever the names', () => {
    const part = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 40 })
      .filter((text) => Buffer.from(text).toString() === text);
    fc.assert(
      fc.property(part, part, fc.boolean(), (instance, name, isPrefix) => {
        const grant = {
          ...({ role: 'server', module: { text: 'quorum', isPrefix: false } } as const),
          ...{ instance: { text: instance, isPrefix: false }, name: { text: name, isPrefix } },
        };
        expect(parseGrants(grantsText([grant]))).toEqual([grant]);
      }),
    );
  });

  it.each([
    ['capitals', 'server:membership/default/WEB-*'],
    ['a plain character that is written as a number', 'server:membership/default/%61'],
    ['capital hexadecimal digits', 'server:membership/default/%7C'],
    ['a * within a part', 'server:membership/d*t/b'],
    ['parts at the end that are *', 'server:membership/*'],
    ['a space at the end', 'server:membership/default/b '],
    ['an unknown role', 'king:membership'],
    ['an unknown module', 'server:castle'],
    ['the beginning of a module', 'server:member*'],
    ['an empty part', 'server:membership//b'],
    ['an empty grant', 'server:membership|'],
    ['four parts', 'server:membership/a/b/c'],
    ['bytes that are not UTF-8', 'server:membership/default/%ff'],
    ['nine grants', Array.from({ length: 9 }, () => 'reader:pool').join('|')],
    ['nothing', ''],
  ])('is refused with %s', (_, text) => {
    expect(parseGrants(text)).toBeUndefined();
  });
});

describe('grants that a person writes', () => {
  it('may have capitals, umlauts and nicknames', () => {
    expect(grantsText(readGrants('owner:pool/Presence/ä'))).toBe('owner:pool/%50resence/%c3%a4');
    expect(grantsText(readGrants('everything'))).toBe('server:*|owner:*|operator:*');
    expect(grantsText(readGrants('viewer'))).toBe('reader:*');
  });

  it('are not guessed from words that are far from all', () => {
    for (const written of ['all', 'king:pool', 'everything-and-more'])
      expect(() => readGrants(written)).toThrow(/, or everything or viewer$/);
  });

  it.each([
    ['king:pool', 'role of server, owner, client, reader, operator'],
    ['pool', 'role:module/instance/name'],
    ['king:pool', 'reader, operator, or everything or viewer'],
    ['everthing', 'did you mean everything?'],
    ['evreything', 'did you mean everything?'],
    ['ower:pool', 'did you mean owner?'],
    ['owner:castle', 'its module must be'],
    ['owner:poo*', 'its module must be'],
    ['owner:pool/a/b/c', 'at most module/instance/name'],
    ['owner:pool/a*b', 'only at the end of a part'],
    ['owner:pool//b', 'no part may be empty'],
    ['owner:pool/%2', 'two hexadecimal digits'],
    ['owner:pool/%ff', 'must be UTF-8'],
    ['owner:pool/a\u0007b', 'no control characters'],
    [`owner:pool/${'ä'.repeat(128)}`, 'at most 255 bytes'],
    [Array.from({ length: 9 }, () => 'reader:pool').join('|'), 'at most 8 grants'],
  ])('are refused with a reason: %j', (written, reason) => {
    expect(() => readGrants(written)).toThrow(reason);
  });
});

describe('hosts of a token', () => {
  it('are names and addresses', () => {
    expect(readHosts(['M1.corp', '10.0.0.1', '[::1]', 'localhost'])).toEqual([
      'm1.corp',
      '10.0.0.1',
      '::1',
      'localhost',
    ]);
  });

  it.each(['*.corp', 'm1.corp:7400', '', 'a b', '-a', '300.0.0.1', 'fe80::1%eth0', `${'a'.repeat(64)}.corp`])(
    'are not %j',
    (host) => {
      expect(() => readHosts([host])).toThrow('host name or an IP address');
    },
  );
});

/** The table of grants again, as a person reads it: no word of it comes from the code that decides. */
const MAY: Readonly<Record<string, string>> = {
  server: 'server client reader',
  owner: 'owner client reader',
  client: 'client reader',
  reader: 'reader',
  operator: 'operator reader',
};

const asWritten = (pattern: string, wanted: string | symbol): boolean => {
  if (wanted === ANY) return true;
  if (wanted === ALL) return pattern === '*';
  if (!pattern.endsWith('*')) return pattern === wanted;
  return (wanted as string).slice(0, pattern.length - 1) === pattern.slice(0, -1);
};

describe('random grants and claims', () => {
  it('are judged 100,000 times as the table says', () => {
    const seed = 27;
    const dice = new Dice(seed);
    const pick = <T>(values: readonly T[]): T => dice.pick(values);
    const roles = Object.keys(MAY) as Claim['role'][];
    const modules = ['pool', 'quorum', 'ratelimit'] as const;
    const values = ['ab', 'abc', 'web-1', 'web-', 'AB', 'x|y'];
    const patterns = [...values, '*', '*', '*', 'a*', 'ab*', 'web-*', 'W*'];
    const written = (pattern: string): string => pattern.replace('|', '%7c').replace('/', '%2f');
    const seen = { yes: 0, no: 0 };
    for (let run = 0; run < 100_000; run += 1) {
      const grants = Array.from({ length: 1 + dice.below(8) }, () => ({
        role: pick(roles),
        module: pick([...modules, '*']),
        instance: pick(patterns),
        name: pick(patterns),
      }));
      const claim: Claim = {
        role: pick(roles),
        module: dice.below(20) === 0 ? ALL : pick(modules),
        instance: dice.below(8) === 0 ? pick([ANY, ALL]) : pick(values),
        name: dice.below(8) === 0 ? pick([ANY, ALL]) : pick(values),
      };
      const expected = grants.some(
        ({ role, module, instance, name }) =>
          MAY[role]?.split(' ').includes(claim.role) &&
          asWritten(module, claim.module) &&
          asWritten(instance, claim.instance) &&
          asWritten(name, claim.name),
      );
      const text = grants
        .map(({ role, module, instance, name }) => `${role}:${module}/${written(instance)}/${written(name)}`)
        .join('|');
      seen[expected ? 'yes' : 'no'] += 1;
      const judged = mayBe(parseGrants(grantsText(readGrants(text))) ?? [], claim);
      if (judged !== expected)
        expect.fail(`run ${run} of seed ${seed}: ${text} for ${claim.role} ${String(claim.name)}: ${judged}`);
    }
    expect(Math.min(seen.yes, seen.no)).toBeGreaterThan(5_000);
  });
});
