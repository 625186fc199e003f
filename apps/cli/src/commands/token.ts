/** `leasehold token`: make, show, list and export tokens. */

import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import {
  createRoot,
  dateIn,
  issuedTokens,
  issueToken,
  readGrants,
  readHosts,
  readToken,
  RefusedError,
  type Token,
  writeSecret,
} from 'leasehold/internal';
import type { Context } from '../context.ts';
import { UsageError } from '../failure.ts';
import { jsonOption, list, withExamples } from '../options.ts';
import { type JsonOption, show, table, writeJson, writeLines } from '../output.ts';
import { type RootFlags, rootOf, withRootFlag } from './ca.ts';

const DAY_MS = 86_400_000;
const EVERYTHING = 'everything';

export function tokenCommand(context: Context): Command {
  const command = new Command('token')
    .summary('Tokens: what processes show to each other, and what each may be')
    .description(
      'Make and look at tokens. A token is a secret on one line: a process with a token speaks TLS, and may be what the token grants.',
    )
    .helpCommand('help [command]', 'print the help of a command');
  for (const each of [createCommand, showCommand, listCommand, exportCommand])
    command.addCommand(each(context));
  return withExamples(command, context, [
    ['token create everything --out token', 'one token for a whole cluster'],
    ["token create 'server:quorum/default/a' --out a.token", 'a token for one replica'],
  ]);
}

function days(text: string): number {
  const value = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : 0;
  if (value > 0) return value;
  throw new InvalidArgumentError('It must be a number of days above 0.');
}

interface CreateFlags extends RootFlags, JsonOption {
  readonly days?: number;
  readonly hosts?: readonly string[];
  readonly out?: string;
}

function createCommand(context: Context): Command {
  const command = withRootFlag(new Command('create'))
    .summary('Make a token')
    .description(
      'Make a token. Grants are role:module/instance/name, joined by |, with a role of server, owner, client, reader or operator; a part may end in *, and parts at the end may be left out. Or one of: everything, viewer, operator. `create everything` makes the root too if there is none.',
    )
    .argument('<grants>', "what the holder may be, as 'server:flease/default/a'")
    .addOption(new Option('--days <number>', 'how long the token lasts (default: no end)').argParser(days))
    .addOption(
      new Option(
        '--hosts <names>',
        'host names and addresses, for clients that compare these, as m1.corp,10.0.0.1',
      ).argParser(list),
    )
    .option('--out <file>', 'write the token to a new file that only its owner can read (default: print it)')
    .addOption(jsonOption())
    .action((written: string, flags: CreateFlags) => create(context, written, flags));
  return withExamples(command, context, [
    ['token create everything --out token', ''],
    ["token create 'client:quorum/default' --days 90", ''],
  ]);
}

async function create(context: Context, written: string, flags: CreateFlags): Promise<void> {
  const { out, err } = context;
  const [grants, hosts] = [readGrants(written), readHosts(flags.hosts ?? [])];
  const ca = rootOf(context, flags);
  const nowMs = dateIn(0)?.getTime() ?? 0;
  const endS = flags.days === undefined ? undefined : Math.floor((nowMs + flags.days * DAY_MS) / 1_000);
  const request = { grants, hosts, endS, nowMs };
  const issue = (): Promise<Issued> =>
    issueToken(ca, request).catch(async (error: unknown) => {
      const isMissing = error instanceof RefusedError && error.code === 'ROOT_MISSING';
      // A narrow token below a new root would fit no other token: then the directory is probably the wrong one.
      if (!isMissing || written !== EVERYTHING) throw error;
      const root = await createRoot(ca);
      writeLines(err, [`Made root ${root.id} of cluster ${root.cluster}, in ${root.directory}`]);
      return issueToken(ca, request);
    });
  const { text, token } = flags.out === undefined ? await issue() : await issuedInto(flags.out, issue);
  if (flags.json) {
    writeJson(out, {
      ...factsOf(token),
      ...(flags.out === undefined ? { token: text } : { file: flags.out }),
    });
  } else if (flags.out === undefined) writeLines(out, [text]);
  else writeLines(out, [`Token ${token.id} (${token.grantsText}), in ${flags.out}`]);
}

type Issued = Awaited<ReturnType<typeof issueToken>>;

/** The file is there before the token is signed and listed. @throws {UsageError} if it cannot be written */
async function issuedInto(path: string, issue: () => Promise<Issued>): Promise<Issued> {
  let issued: Issued | undefined;
  const write = async (): Promise<string> => {
    issued = await issue();
    return `${issued.text}\n`;
  };
  try {
    await writeSecret(path, write);
  } catch (error) {
    const { path: at, code = 'unknown' } = error as NodeJS.ErrnoException;
    throw at === path ? new UsageError(`--out ${path} cannot be written: ${code}`) : error;
  }
  return issued as unknown as Issued;
}

/** All of a token but its secrets. */
function factsOf({ id, cluster, rootId, grantsText, hosts, endS }: Token) {
  const endsAt = endS === undefined ? null : new Date(endS * 1_000).toISOString();
  return { id, cluster, root: rootId, grants: grantsText, hosts, endsAt };
}

/** A token from a file; no token is ever an argument, which other users of the machine could read. */
function tokenIn(path: string): Token {
  try {
    return readToken(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof RefusedError) throw error;
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new UsageError(`${path} cannot be read: ${code}`);
  }
}

function showCommand(context: Context): Command {
  const command = new Command('show')
    .summary('Show what a token grants, without its secrets')
    .description('Show the id, the cluster, the grants and the end of the token in a file.')
    .argument('<file>', 'the file with the token')
    .addOption(jsonOption())
    .action((path: string, flags: JsonOption) => {
      const token = tokenIn(path);
      const facts = factsOf(token);
      show(context, flags, facts, () => [
        `Token ${facts.id} of cluster ${facts.cluster}, root ${facts.root}`,
        `  grants  ${facts.grants}`,
        `  hosts   ${facts.hosts.join(', ') || 'none'}`,
        `  ends    ${facts.endsAt ?? 'never'}`,
      ]);
    });
  return withExamples(command, context, [['token show token', '']]);
}

function listCommand(context: Context): Command {
  const command = withRootFlag(new Command('list'))
    .summary('List the tokens that a root has signed')
    .description('List the tokens that were made with the root in a directory.')
    .addOption(jsonOption())
    .action(async (flags: RootFlags & JsonOption) => {
      const tokens = await issuedTokens(rootOf(context, flags));
      show(context, flags, { tokens }, () =>
        tokens.length === 0
          ? ['No token was made yet.']
          : table(
              ['id', 'made', 'ends', 'grants', 'hosts'],
              tokens.map(({ id, createdAt, endsAt, grants, hosts }) => [
                id,
                createdAt,
                endsAt ?? 'never',
                grants,
                hosts.join(','),
              ]),
            ),
      );
    });
  return withExamples(command, context, [['token list', '']]);
}

interface ExportFlags {
  readonly tokenFile: string;
}

function exportCommand(context: Context): Command {
  const command = new Command('export')
    .summary('Write a token as files, for programs that know certificates')
    .description(
      'Write ca.pem, cert.pem and key.pem into a new directory, for curl, Prometheus or a client in another language. The certificate is made now, and ends with the token.',
    )
    .argument('<directory>', 'a directory that is not there yet')
    .requiredOption('--token-file <file>', 'the file with the token')
    .action(async (directory: string, { tokenFile }: ExportFlags) => {
      const token = tokenIn(tokenFile);
      try {
        await mkdir(directory, { mode: 0o700 });
      } catch (error) {
        const { code = 'unknown' } = error as NodeJS.ErrnoException;
        throw new UsageError(`${directory} cannot be made: ${code}; name a directory that is not there yet`);
      }
      const { cert, key } = token.vouch();
      await writeSecret(join(directory, 'ca.pem'), () => token.anchor);
      await writeSecret(join(directory, 'cert.pem'), () => cert);
      await writeSecret(join(directory, 'key.pem'), () => key);
      writeLines(context.out, [`Certificates of token ${token.id} are in ${directory}`]);
    });
  return withExamples(command, context, [['token export files --token-file token', '']]);
}
