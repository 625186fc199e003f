/**
 * Names that would do something to a terminal, through every command that shows names of others, and through the
 * logger. A Manager refuses such names where they are set; but the log of an older Manager may hold them, and a server
 * at an address may say anything.
 */

import { createServer } from 'node:http';
import { readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { threeOwners } from '../../../leasehold/src/pool/shell/service/source-script.ts';
import { warnings } from '../../../leasehold/src/node/process/warnings.ts';
import { hasControls, printable } from '../../../leasehold/src/runtime/printable.ts';
import { runCli } from './cli.ts';
import { EventTeller } from './event-line.ts';
import { report, UsageError } from './failure.ts';
import { createLogger } from './logger.ts';
import { recordedContext } from './testing/recorded-context.ts';
import { served } from './testing/served-manager.ts';
import { buildProgram } from './program.ts';
import { colorsFor } from './context.ts';

/** Clears the screen, rings, forges a line, writes backwards, and colours. */
const HOSTILE = 'evil\x1b[2J\x1b]0;title\x07\nforged line\r\u202etxt\x9b31m\u2028\x1b[31m';

const isClean = (text: string): boolean => !hasControls(text.replaceAll('\n', ''));

/** Every printed text is fit for a terminal, and no name has made a line of its own. */
function expectClean(...texts: readonly string[]): void {
  for (const text of texts) {
    expect(text.split('\n').filter((line) => hasControls(line))).toEqual([]);
    expect(text).not.toMatch(/^forged line/m);
  }
}

function hostileManager() {
  const manager = threeOwners();
  manager.join(HOSTILE, HOSTILE);
  manager.join('presence', HOSTILE);
  manager.settle(HOSTILE);
  manager.settle('presence');
  manager.others = [{ id: HOSTILE, address: HOSTILE, http: 'http://127.0.0.1:1', isSelf: false }];
  manager.haltedBecause = HOSTILE;
  const unknown = { reachable: true, isLeader: true, isSelf: false, databaseBytes: 5 };
  manager.store = {
    ...{ kind: 'etcd', where: HOSTILE, bytes: undefined },
    members: [{ endpoint: HOSTILE, complaint: HOSTILE, version: HOSTILE, ...unknown }],
  };
  return manager;
}

describe('a hostile name', () => {
  const COMMANDS: readonly (readonly string[])[] = [
    ['status'],
    ['pool', 'status', 'presence'],
    ['pool', 'status', HOSTILE],
    ['pool', 'list'],
    ['pool', 'find', 'presence', HOSTILE, 'alice'],
    ['pool', 'find', HOSTILE, 'alice'],
    ['pool', 'find', `no such ${HOSTILE}`, 'alice'],
    ['pool', 'explain', HOSTILE, HOSTILE],
    ['pool', 'explain', 'presence', 'alice'],
    ['manager', 'step-down'],
    ['pool', 'remove', HOSTILE],
    ['pool', 'list', '--no-such', HOSTILE],
  ];

  it.each(COMMANDS.map((argv) => [printable(argv.join(' ')), argv] as const))(
    'is escaped by %s',
    async (_, argv) => {
      await using manager = await served(hostileManager());
      const { printed, complained } = await manager.run(...argv);
      expect(printed + complained).not.toBe('');
      expectClean(printed, complained);
      const json = await manager.run(...argv, '--json');
      expectClean(json.printed, json.complained);
    },
  );

  it('is escaped in every event, with colours that are ours', () => {
    const owner = { incarnation: HOSTILE, name: HOSTILE, url: HOSTILE };
    const facts = { id: '1', atMs: 0, pool: HOSTILE, owner, from: owner, spans: 1, sharePercent: 1 };
    const manager = { manager: HOSTILE, leader: HOSTILE, term: 1, why: HOSTILE };
    const [plain, coloured] = [false, true].map((isTerminal) => {
      const context = recordedContext({ isTerminal });
      const teller = new EventTeller(colorsFor(context.out, context));
      return (kind: string) => teller.line({ kind, ...facts, ...manager } as never);
    });
    for (const kind of [
      'pool.joined',
      'pool.left',
      'pool.lost',
      'pool.moved',
      'pool.ordered',
      'pool.granted',
      'manager.elected',
      'manager.follows',
      'manager.halted',
      HOSTILE,
    ]) {
      const line = plain?.(kind) ?? '';
      expectClean(line);
      expect(stripVTControlCharacters(coloured?.(kind) ?? '')).toBe(line);
    }
  });

  it.each<readonly string[]>([
    ['flease', 'status'],
    ['flease', 'status', 'backup'],
  ])('is escaped by %s %s', async (...argv) => {
    const peer = { name: HOSTILE, connected: true, address: HOSTILE, heardAgoMs: 1, clockAheadMs: null };
    const status = {
      ...{ module: 'flease', name: HOSTILE, instance: HOSTILE, peersVersion: 1, isSettled: true },
      ...{ leaseMs: 1, closed: null },
      clockSkewMs: 1,
      ...{ recovery: { words: HOSTILE }, held: 0, waiting: 0, registers: 0, attempts: 0 },
      peers: [{ ...peer, problem: HOSTILE, trouble: null }],
    };
    const holder = { resource: HOSTILE, holder: { holder: HOSTILE, number: 1, validUntil: 0 } };
    const server = createServer(({ url }, response) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(url === '/v1/status' ? { version: '1', handles: [status] } : holder));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const context = recordedContext();
    const { port } = server.address() as AddressInfo;
    await runCli([...argv, '--at', String(port)], context);
    server.close();
    expect(context.printed()).toContain('evil');
    expectClean(context.printed(), context.complained());
  });

  it.each(['human', 'json'] as const)('is escaped in %s logs, in the message and in facts', (format) => {
    const context = recordedContext();
    createLogger(context, { format }).warn(`heard of ${HOSTILE}`, { [HOSTILE]: HOSTILE, url: HOSTILE });
    expectClean(context.complained());
    expect(context.complained().trimEnd().split('\n')).toHaveLength(1);
  });

  it('is escaped in errors that repeat it, as a command reports them and as they are', () => {
    const error = new UsageError(`there is no ${HOSTILE}`);
    const context = recordedContext();
    report(error, buildProgram(context), context, false);
    report(new Error(HOSTILE), buildProgram(context), context, true);
    expectClean(context.complained(), error.message);
    expect(isClean(error.message)).toBe(true);
  });
});

describe('the library without a logger', () => {
  afterEach(() => void vi.restoreAllMocks());

  it('escapes a hostile name in its warnings', () => {
    const written: string[] = [];
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
    warnings.warn(`heard of ${HOSTILE}`, { url: HOSTILE });
    expectClean(...written);
    expect(written.join('').trimEnd().split('\n')).toHaveLength(1);
  });
});

/** These escape the names that others chose, because they colour the text around, draw, or print no names. */
const WRITERS = new Set([
  'output.ts',
  'context.ts',
  'logger.ts',
  'program.ts',
  'completion.ts',
  'screen.ts',
  'player.ts',
  'drain.ts',
]);

describe('the command line', () => {
  it('writes by the functions that escape, and not past them', () => {
    const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' });
    const past = sources.filter((path) => {
      if (!path.endsWith('.ts') || path.includes('test')) return false;
      const text = readFileSync(join(import.meta.dirname, path), 'utf8');
      return /\b(?:out|err|stdout|stderr)\.write\(/.test(text) && !WRITERS.has(path.split('/').at(-1) ?? '');
    });
    expect(past).toEqual([]);
  });
});
