import { describe, expect, it } from 'vitest';
import { hostCheck } from './hosts.ts';

describe('the check of the Host', () => {
  const isExpected = hostCheck(['Manager.internal', 'other:7401']);

  it.each([
    ...[
      'localhost',
      'localhost:7401',
      'LOCALHOST.',
      'page.localhost:1',
      '127.0.0.1',
      '127.0.0.1:7401',
      '10.1.2.3',
    ],
    ...[
      '[::1]',
      '[::1]:7401',
      '::1',
      'manager.internal',
      'manager.internal:80',
      'MANAGER.INTERNAL.',
      'other',
      '',
    ],
    undefined,
  ])('lets %s pass', (host) => {
    expect(isExpected(host)).toBe(true);
  });

  it.each([
    ...[
      'evil.example',
      'evil.example:7401',
      'localhost.evil.example',
      'notlocalhost',
      'manager.internal.evil.example',
    ],
    ...[
      '127.0.0.1.evil.example',
      '127.0.0.1.nip.io:80',
      '[evil]',
      'evil@localhost',
      '0x7f.1',
      '*',
      '[::1',
      ' localhost',
    ],
  ])('does not let %s pass', (host) => {
    expect(isExpected(host)).toBe(false);
  });

  it('lets everything pass only when told so', () => {
    expect(hostCheck(['*'])('evil.example')).toBe(true);
  });
});
