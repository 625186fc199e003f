import { describe, expect, it } from 'vitest';
import { type Kind, kindOf, testFiles } from './kinds.mjs';
import { recordedSeconds } from './seconds.mjs';

/** The kind of a test of the pool in a repository of these files. */
function kindIn(sources: Readonly<Record<string, string>>): Kind {
  return kindOf('leasehold/src/pool/a.test.ts', (path) => sources[path.replace('leasehold/src/', '')]);
}

describe('the kind of a test file', () => {
  it.each([
    ["import { connect } from 'node:net';"],
    ["import {\n  request,\n  type Agent,\n} from 'node:http';"],
    ["export { spawn } from 'node:child_process';"],
    [`const { Worker } = await ${'import'}('node:worker_threads');`],
    ["import 'node:tls';"],
    ["import { chromium } from 'playwright-core';"],
  ])('is real if the file imports a part of the real world: %s', (text) => {
    expect(kindIn({ 'pool/a.test.ts': text })).toBe('real');
  });

  it('is real if a file that it imports by several steps, even in a circle, touches the real world', () => {
    const sources = {
      'pool/a.test.ts': "import { a } from './a.ts';",
      'pool/a.ts': "import { b } from '../node/b.ts';",
      'node/b.ts': "import { a } from '../pool/a.ts';\nimport { connect } from 'node:net';",
    };
    expect(kindIn(sources)).toBe('real');
    expect(kindIn({ ...sources, 'node/b.ts': "import { a } from '../pool/a.ts';" })).toBe('fast');
  });

  it('is real if the file imports a published name behind which there are sockets', () => {
    const sources = {
      'pool/a.test.ts': "import { joinPool } from 'leasehold/pool';",
      'pool/index.ts': "import 'node:net';",
    };
    expect(kindIn(sources)).toBe('real');
  });

  it('is fast if only types of the real world are imported', () => {
    expect(kindIn({ 'pool/a.test.ts': "import type { Socket } from 'node:net';" })).toBe('fast');
  });

  it('is worlds under simulation/, whatever is imported, and real under e2e/', () => {
    expect(kindOf('leasehold/src/pool/simulation/a.test.ts', () => "import 'node:net';")).toBe('worlds');
    expect(kindOf('scripts/sim/a.test.ts', () => "import 'node:net';")).toBe('worlds');
    expect(kindOf('e2e/a.test.ts', () => '')).toBe('real');
  });
});

describe('the tests of this repository', () => {
  const files = testFiles();
  const ofKind = (kind: Kind): string[] => files.filter((path) => kindOf(path) === kind);

  it('are of all three kinds, each where its neighbours are', () => {
    expect(ofKind('fast')).toContain('leasehold/src/pool/core/owner/owner.test.ts');
    expect(ofKind('worlds')).toContain('leasehold/src/pool/simulation/story.test.ts');
    expect(ofKind('real')).toContain('leasehold/src/membership/shell/join-group.test.ts');
    expect(ofKind('real')).toContain('e2e/register.test.ts');
    // No file that is named after what is real calculates only.
    expect(files.filter((path) => path.includes('/real-') && kindOf(path) !== 'real')).toEqual([]);
  });

  it('have recorded times, the longest first', () => {
    const seconds = Object.values(recordedSeconds());
    expect(seconds.length).toBeGreaterThan(0);
    expect(seconds).toEqual([...seconds].sort((one, other) => other - one));
  });
});
