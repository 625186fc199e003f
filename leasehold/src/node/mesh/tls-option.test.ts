/** The option `tls`, the variables beside it, and what is refused without both. */

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Tls } from '../../runtime/handle.ts';
import { silent } from '../../runtime/logger.ts';
import { readGrants } from '../identity/grants.ts';
import { newKeyPair } from '../identity/keys.ts';
import { makeToken, readToken } from '../identity/token.ts';
import { listeningLogger } from '../tcp/socket-script.ts';
import { checkProtected, noToken, secureSocketsOf, tlsOfStore } from './tls-option.ts';

const cluster = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
const tokenFor = (grants: string): string => makeToken({ ...cluster, grants: readGrants(grants) });
const [inFile, inVariable, inOption] = [
  tokenFor('owner:pool/file'),
  tokenFor('owner:pool/variable'),
  tokenFor('owner:pool/option'),
];

let home: string;
let file: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'leasehold-tls-'));
  file = join(home, 'token');
  await writeFile(file, `${inFile}\n`, { mode: 0o600 });
});
afterAll(() => rm(home, { recursive: true }));
afterEach(() => {
  vi.unstubAllEnvs();
});

const socketsOf = (tls: Tls | undefined, insecure?: boolean) =>
  secureSocketsOf({ tls, insecure, logger: silent }, 0);
/** Of which token the sockets are. */
function idOf(tls?: Tls): string | undefined {
  const own = socketsOf(tls)?.own;
  return own === undefined || own === 'unrestricted' ? own : own.id;
}

describe('the token of a process', () => {
  it('is that of the option, else of the file in the environment, else of the variable', () => {
    expect(idOf()).toBeUndefined();
    vi.stubEnv('LEASEHOLD_TOKEN', inVariable);
    expect(idOf()).toBe(readToken(inVariable).id);
    expect(idOf(inOption)).toBe(readToken(inOption).id);
    vi.stubEnv('LEASEHOLD_TOKEN', '');
    vi.stubEnv('LEASEHOLD_TOKEN_FILE', file);
    expect(idOf()).toBe(readToken(inFile).id);
    expect(idOf(inOption)).toBe(readToken(inOption).id);
    expect(idOf({ file })).toBe(readToken(inFile).id);
  });

  it('is none with tls: false, whatever the environment says', () => {
    vi.stubEnv('LEASEHOLD_TOKEN_FILE', '/not/there');
    expect(idOf(false)).toBeUndefined();
  });

  it('is not guessed from two variables', () => {
    vi.stubEnv('LEASEHOLD_TOKEN', inVariable);
    vi.stubEnv('LEASEHOLD_TOKEN_FILE', file);
    expect(() => socketsOf(undefined)).toThrow('LEASEHOLD_TOKEN_FILE is set, too: leave one of the two out');
    expect(() => socketsOf(undefined)).not.toThrow(inVariable.slice(10, 30));
    expect(idOf(inOption)).toBe(readToken(inOption).id);
  });

  it('goes with no plaintext, wherever it comes from', () => {
    expect(() => socketsOf(inOption, true)).toThrow('option insecure is true, but tls is given, too');
    vi.stubEnv('LEASEHOLD_TOKEN_FILE', file);
    expect(() => socketsOf(undefined, true)).toThrow('but LEASEHOLD_TOKEN_FILE is given, too');
    expect(socketsOf(false, true)).toBeUndefined();
  });

  it.each([
    [
      'is not there',
      'LEASEHOLD_TOKEN_FILE names /',
      'cannot be read: ENOENT; leasehold token create',
      () => join(home, 'none'),
    ],
    [
      'is empty',
      'LEASEHOLD_TOKEN_FILE is',
      'the file is empty',
      async () => {
        await writeFile(join(home, 'empty'), ' \n');
        return join(home, 'empty');
      },
    ],
    ['is a directory', 'LEASEHOLD_TOKEN_FILE names', 'cannot be read: EISDIR', () => home],
    [
      'has something else',
      'the token is not whole',
      'lh1. to its end',
      async () => {
        await writeFile(join(home, 'other'), 'hunter2');
        return join(home, 'other');
      },
    ],
  ] as const)('is not in a file that %s', async (_, words, more, make) => {
    vi.stubEnv('LEASEHOLD_TOKEN_FILE', await make());
    expect(() => socketsOf(undefined)).toThrow(words);
    expect(() => socketsOf(undefined)).toThrow(more);
    expect(() => socketsOf(undefined)).not.toThrow('hunter2');
  });

  it('is taken from a file of ours that everybody can read, with a warning', async () => {
    const exposed = join(home, 'exposed');
    await writeFile(exposed, inFile);
    await chmod(exposed, 0o644);
    const logger = listeningLogger();
    expect(secureSocketsOf({ tls: { file: exposed }, logger }, 0)).toBeDefined();
    expect(logger.lines).toMatchObject([
      { level: 'warn', message: 'every user of this machine can read the token: chmod 0400', file: exposed },
    ]);
    await chmod(exposed, 0o440);
    expect(secureSocketsOf({ tls: { file: exposed }, logger }, 0)).toBeDefined();
    expect(logger.lines).toHaveLength(1);
  });

  it('is not taken from a file of another user that everybody can read', async () => {
    const exposed = join(home, 'foreign');
    await writeFile(exposed, inFile);
    await chmod(exposed, 0o644);
    vi.spyOn(process, 'getuid').mockReturnValue((process.getuid?.() ?? 0) + 1);
    expect(() => socketsOf({ file: exposed })).toThrow('it is not ours to mend');
    vi.restoreAllMocks();
  });

  it('is not in a relative path without the whole path being said', () => {
    vi.stubEnv('LEASEHOLD_TOKEN_FILE', 'nope');
    const whole = join(process.cwd(), 'nope');
    expect(() => socketsOf(undefined)).toThrow(`LEASEHOLD_TOKEN_FILE names ${whole}, which cannot be read`);
    expect(() => socketsOf({ file: 'nope' })).toThrow(`tls.file names ${whole}, which cannot be read`);
    expect(() => socketsOf({ file: inOption })).not.toThrow(inOption.slice(10, 30));
  });

  it('is not a path, which goes elsewhere', () => {
    expect(() => socketsOf('hello')).toThrow('from lh1. to its end; a path goes as { file }');
    expect(() => socketsOf(inOption.slice(0, 90))).toThrow(/to its end$/);
    vi.stubEnv('LEASEHOLD_TOKEN', './token');
    expect(() => socketsOf(undefined)).toThrow('a path goes into LEASEHOLD_TOKEN_FILE');
  });

  it('is not true, under the name that the option has', () => {
    expect(() => socketsOf(true as never)).toThrow(/^option tls is true, but it must be a token/);
  });

  it.each([5, null, { file: 0 }, { file: 'x', ca: 'x' }, { files: 'x' }])('is not %j', (tls) => {
    expect(() => socketsOf(tls as unknown as Tls)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION' }),
    );
  });
});

describe('a port beyond this machine', () => {
  const check = (host: string, secure: ReturnType<typeof socketsOf>, insecure = false) => {
    const logger = listeningLogger();
    checkProtected('listen', `${host}:7400`, host, secure, { insecure, logger });
    return logger.lines.length;
  };

  it('needs a token, or somebody who says that it needs none, which is worth a line', () => {
    expect(() => check('10.0.0.1', undefined)).toThrow(
      expect.objectContaining({ code: 'NO_TOKEN', details: expect.objectContaining({ option: 'listen' }) }),
    );
    expect(() => check('10.0.0.1', undefined)).toThrow('option listen is 10.0.0.1:7400, but everybody');
    expect(check('10.0.0.1', undefined, true)).toBe(1);
    expect(check('10.0.0.1', socketsOf(inOption))).toBe(0);
    expect(check('127.0.0.1', undefined)).toBe(0);
  });

  it('is not said to need a token for HTTP, which takes none', () => {
    expect(noToken('--http', '10.0.0.1:7401', 'http').message).not.toContain('token');
  });
});

describe('the store of a Manager', () => {
  it('has the token of its Manager, or its own and then no leave to speak plaintext', () => {
    expect(tlsOfStore(undefined, { tls: inOption, insecure: false })).toEqual({
      tls: inOption,
      insecure: false,
    });
    expect(tlsOfStore(inFile, { tls: undefined, insecure: true })).toEqual({
      tls: inFile,
      insecure: undefined,
    });
  });
});
