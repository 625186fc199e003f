/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A real etcd on loopback for one test: one member or three, on free ports, in a directory of its own, with TLS, with
 * names and passwords, or with little room, by the test's choice. Members can be killed, paused, cut off from each
 * other, and brought back. All of this is gone when the cluster is disposed of, and the members also die with the
 * thread that started them, however that thread ends.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { httpClient } from '../../node/http-client/http-client.ts';
import { secureContext } from '../../node/http-client/secure-context.ts';
import type { HttpClient } from '../../runtime/http.ts';
import { type Certificates, makeCertificates } from '../../node/http-client/certificates-script.ts';
import { lastingPort } from '../../node/testing/lasting-port.ts';
import { PeerRelay } from './peer-relay.ts';

export interface EtcdClusterOptions {
  /** @default 3 */
  readonly members?: 1 | 3 | undefined;
  /** Clients must show a certificate too. @default false */
  readonly isSecure?: boolean | undefined;
  /** The limit of the database. @default etcd's, 2 GiB */
  readonly quotaBytes?: number | undefined;
  /** Members talk through relays, and can be cut off. @default false */
  readonly isRelayed?: boolean | undefined;
  /** Where they listen. @default '127.0.0.1' */
  readonly host?: string | undefined;
  /**
   * A command in front of each member: `ip netns exec …`. The command must become the member, not start the member as
   * a child.
   */
  readonly under?: readonly string[] | undefined;
  /** More arguments for each member. */
  readonly args?: readonly string[] | undefined;
}

export const ROOT: { readonly user: string; readonly password: string } = {
  user: 'root',
  password: 'roots:own/pass@word',
};

const UP_WITHIN_MS = 30_000;
const STARTS_MAX = 3;

export class EtcdCluster implements AsyncDisposable {
  readonly members: readonly EtcdMember[];
  readonly directory: string;
  readonly certificates: Certificates | undefined;
  readonly #http: HttpClient & Disposable;
  readonly #atExit = (): void => this.#clear();
  #token: string | undefined;

  private constructor(
    directory: string,
    members: readonly EtcdMember[],
    certificates: Certificates | undefined,
  ) {
    this.directory = directory;
    this.members = members;
    this.certificates = certificates;
    this.#http = httpClient(
      certificates === undefined
        ? {}
        : { secureContext: secureContext({ ca: certificates.ca, ...certificates.client }) },
    );
    process.on('exit', this.#atExit);
  }

  /** Resolves when all members know their leader and answer. */
  static async start(options: EtcdClusterOptions = {}): Promise<EtcdCluster> {
    for (let starts = 1; ; starts += 1) {
      const cluster = await EtcdCluster.#prepare(options);
      try {
        for (const member of cluster.members) await member.start();
        await cluster.whenWell();
        return cluster;
      } catch (error) {
        // Another process may have taken a port since the search for free ports.
        await cluster[Symbol.asyncDispose]();
        if (starts === STARTS_MAX) throw error;
      }
    }
  }

  static async #prepare(options: EtcdClusterOptions): Promise<EtcdCluster> {
    const { members = 3, isSecure = false, isRelayed = false, host = '127.0.0.1', under = [] } = options;
    const directory = mkdtempSync(join(tmpdir(), 'leasehold-etcd-'));
    const certificates = isSecure ? makeCertificates(directory) : undefined;
    const places: Place[] = [];
    for (let index = 0; index < members; index += 1) {
      const peerPort = await lastingPort();
      places.push({
        name: `m${index}`,
        host,
        clientPort: await lastingPort(),
        peerPort,
        knownPeerPort: isRelayed ? await lastingPort() : peerPort,
      });
    }
    const known = places.map(({ name, knownPeerPort }) => `${name}=http://${host}:${knownPeerPort}`);
    const common = [
      ...['--initial-cluster', known.join(','), '--initial-cluster-state', 'new', '--log-level', 'warn'],
      ...(options.quotaBytes === undefined ? [] : ['--quota-backend-bytes', String(options.quotaBytes)]),
      ...(certificates === undefined ? [] : secureArguments(certificates)),
      ...(options.args ?? []),
    ];
    return new EtcdCluster(
      directory,
      places.map((place) => new EtcdMember(directory, place, { isSecure, under, common })),
      certificates,
    );
  }

  get endpoints(): readonly string[] {
    return this.members.map(({ endpoint }) => endpoint);
  }

  member(name: string): EtcdMember {
    const found = this.members.find((member) => member.name === name);
    if (found === undefined) throw new Error(`there is no member ${name}`);
    return found;
  }

  /** Asks one member, past everything that is tested here. */
  async ask(member: EtcdMember, path: string, body: object, timeoutMs = 5_000): Promise<Answer> {
    const answer = await this.#posted(member, path, body, timeoutMs);
    if (!/auth token|user name is empty/.test(answer.text)) return answer;
    // A member that was restarted has forgotten all tokens.
    await this.#authenticate(member);
    return await this.#posted(member, path, body, timeoutMs);
  }

  async #authenticate(member: EtcdMember): Promise<void> {
    const { user, password } = ROOT;
    this.#token = undefined;
    const { text } = await this.#posted(member, '/v3/auth/authenticate', { name: user, password }, 5_000);
    this.#token = /"token":"([^"]+)"/.exec(text)?.[1];
  }

  async #posted(member: EtcdMember, path: string, body: object, timeoutMs: number): Promise<Answer> {
    const headers = {
      'content-type': 'application/json',
      ...(this.#token === undefined ? {} : { authorization: this.#token }),
    };
    return await posted(
      this.#http,
      { url: member.endpoint + path, headers, body: JSON.stringify(body) },
      timeoutMs,
    );
  }

  /** The leading member, confirmed by itself and by so many members in all; undefined while there is none. */
  async leader(
    votes: number = Math.floor(this.members.length / 2) + 1,
    timeoutMs = 1_000,
  ): Promise<EtcdMember | undefined> {
    const statuses = await Promise.all(this.members.map((member) => this.#status(member, timeoutMs)));
    return this.members.find((_, index) => {
      const id = statuses[index]?.id;
      if (id === undefined || statuses[index]?.leader !== id) return false;
      return statuses.filter((status) => status?.leader === id).length >= votes;
    });
  }

  async whenLed(): Promise<EtcdMember> {
    return await this.#until('a leader', () => this.leader());
  }

  /** All run, know the same leader, and answer a linearizable read. */
  async whenWell(): Promise<void> {
    await this.#until('all members well', async () => {
      const dead = this.members.find((member) => !member.isRunning);
      if (dead !== undefined) throw new Error(`etcd ${dead.name} has ended:\n${dead.said()}`);
      if ((await this.leader(this.members.length)) === undefined) return undefined;
      const reads = this.members.map((member) => this.ask(member, '/v3/kv/range', { key: 'AA==' }, 1_000));
      return (await Promise.all(reads)).every(({ status }) => status === 200) || undefined;
    });
  }

  /** Brings back all killed, paused and cut-off members. */
  async heal(): Promise<void> {
    for (const member of this.members) {
      member.reconnect(this.members);
      member.resume();
      if (!member.isRunning) await member.start();
    }
    await this.whenWell();
  }

  /** Neither hears nor is heard by the others; clients reach the member all the same. */
  async cutOff(member: EtcdMember): Promise<void> {
    const status = await this.#status(member, 1_000);
    if (status === undefined) throw new Error(`${member.name} does not answer`);
    member.cutOff(BigInt(status.id).toString(16), this.members);
  }

  /** From here on everybody needs a name and a password: {@link ROOT}, or one that is allowed only keys under a prefix. */
  async enableAuth(user: string, password: string, prefix: string): Promise<void> {
    const [member] = this.members;
    if (member === undefined) throw new Error('no member');
    const must = async (path: string, body: object): Promise<void> => {
      const { status, text } = await this.ask(member, path, body);
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    };
    const [key, end] = [prefix, endOf(prefix)].map((text) => Buffer.from(text).toString('base64'));
    await must('/v3/auth/user/add', { name: ROOT.user, password: ROOT.password });
    await must('/v3/auth/role/add', { name: 'root' });
    await must('/v3/auth/user/grant', { user: ROOT.user, role: 'root' });
    await must('/v3/auth/user/add', { name: user, password });
    await must('/v3/auth/role/add', { name: 'keys' });
    await must('/v3/auth/role/grant', { name: 'keys', perm: { permType: 'READWRITE', key, range_end: end } });
    await must('/v3/auth/user/grant', { user, role: 'keys' });
    await must('/v3/auth/enable', {});
    await this.#authenticate(member);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()));
    await Promise.all(this.members.map((member) => member.closeRelay()));
    this.#clear();
    process.off('exit', this.#atExit);
  }

  #clear(): void {
    for (const member of this.members) void member.kill();
    this.#http[Symbol.dispose]();
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #status(member: EtcdMember, timeoutMs: number): Promise<Status | undefined> {
    if (!member.isRunning || member.isPaused) return undefined;
    const { status, text } = await this.ask(member, '/v3/maintenance/status', {}, timeoutMs);
    if (status !== 200) return undefined;
    const { header, leader } = JSON.parse(text) as { header: { member_id: string }; leader?: string };
    return { id: header.member_id, leader };
  }

  async #until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
    const until = performance.now() + UP_WITHIN_MS;
    for (;;) {
      const found = await look();
      if (found !== undefined) return found;
      if (performance.now() > until) {
        const words = this.members.map((member) => `${member.name}:\n${member.said()}`);
        throw new Error(`not within ${UP_WITHIN_MS} ms: ${what}\n${words.join('\n')}`);
      }
      await pause(20);
    }
  }
}

interface Status {
  readonly id: string;
  readonly leader: string | undefined;
}

interface Place {
  readonly name: string;
  readonly host: string;
  readonly clientPort: number;
  readonly peerPort: number;
  readonly knownPeerPort: number;
}

/** How members are started, all alike. */
interface Manner {
  readonly isSecure: boolean;
  readonly under: readonly string[];
  readonly common: readonly string[];
}

export class EtcdMember {
  readonly name: string;
  readonly endpoint: string;
  readonly #place: Place;
  readonly #under: readonly string[];
  readonly #args: readonly string[];
  readonly #output: string;
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();
  #relay: PeerRelay | undefined;
  #id: string | undefined;
  isPaused = false;

  constructor(directory: string, place: Place, { isSecure, under, common }: Manner) {
    const { name, host, clientPort, peerPort, knownPeerPort } = place;
    this.name = name;
    this.endpoint = `${isSecure ? 'https' : 'http'}://${host}:${clientPort}`;
    this.#place = place;
    this.#under = under;
    this.#output = join(directory, `${name}.log`);
    const data = join(directory, name);
    mkdirSync(data, { mode: 0o700 });
    this.#args = [
      ...['--name', name, '--data-dir', data],
      ...['--listen-client-urls', this.endpoint, '--advertise-client-urls', this.endpoint],
      ...['--listen-peer-urls', `http://${host}:${peerPort}`],
      ...['--initial-advertise-peer-urls', `http://${host}:${knownPeerPort}`],
      ...common,
    ];
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.name} does not run`);
    return pid;
  }

  /** With the contents of the old disk. The first answer may take a moment. */
  async start(): Promise<void> {
    const { peerPort, knownPeerPort } = this.#place;
    if (peerPort !== knownPeerPort) this.#relay ??= await PeerRelay.open(knownPeerPort, peerPort);
    const output = openSync(this.#output, 'a');
    const program = installed('etcd');
    if (program === undefined) throw new Error('etcd is not installed');
    const [command = program, ...before] = [...this.#under, ...dyingWithUs(), program];
    const child = spawn(command, [...before, ...this.#args], { stdio: ['ignore', output, output] });
    closeSync(output);
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once('exit', () => {
        if (this.#child === child) this.#child = undefined;
        resolve();
      });
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
  }

  /** As by a power cut. */
  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL');
    this.isPaused = false;
    await this.#ended;
  }

  /** The sockets stay open, and nobody answers. */
  pause(): void {
    this.isPaused = true;
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.isPaused = false;
    this.#child?.kill('SIGCONT');
  }

  /** @internal */
  cutOff(id: string, members: readonly EtcdMember[]): void {
    if (this.#relay === undefined) throw new Error('the cluster was not started with relays');
    this.#id = id;
    this.#relay.isCutOff = true;
    for (const other of members) if (other !== this) other.#relay?.cut(id, true);
  }

  reconnect(members: readonly EtcdMember[]): void {
    if (this.#relay === undefined || this.#id === undefined) return;
    this.#relay.isCutOff = false;
    for (const other of members) if (other !== this) other.#relay?.cut(this.#id, false);
    this.#id = undefined;
  }

  /** @internal */
  async closeRelay(): Promise<void> {
    await this.#relay?.[Symbol.asyncDispose]();
    this.#relay = undefined;
  }

  said(): string {
    try {
      return readFileSync(this.#output, 'utf8').slice(-4_000);
    } catch {
      return ''; // The member has not started yet.
    }
  }
}

/** All keys that begin so are before this one. */
export const endOf = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);

const secureArguments = ({ ca, server }: Certificates): readonly string[] => [
  ...['--cert-file', server.cert, '--key-file', server.key],
  ...['--client-cert-auth', '--trusted-ca-file', ca],
];

/** Linux can make sure that a child does not outlive us, however we end. */
const dyingWithUs = (): readonly string[] =>
  installed('setpriv') === undefined ? [] : ['setpriv', '--pdeathsig', 'KILL', '--'];

/** The path of a program; undefined if not installed. */
export function installed(program: string): string | undefined {
  const places = (process.env['PATH'] ?? '').split(delimiter).map((place) => join(place, program));
  return places.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false; // Not here.
    }
  });
}

/** Status 0: no answer, and the text says why. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

function posted(
  http: HttpClient,
  post: Parameters<HttpClient['post']>[0],
  timeoutMs: number,
): Promise<Answer> {
  return new Promise((resolve) => {
    let status = 0;
    const pieces: Uint8Array[] = [];
    const exchange = http.post(post, {
      status: (of) => (status = of),
      data: (piece) => pieces.push(piece),
      ended: () => done({ status, text: Buffer.concat(pieces).toString() }),
      failed: (why) => done({ status: 0, text: why }),
    });
    const timer = setTimeout(() => {
      exchange[Symbol.dispose]();
      done({ status: 0, text: `no answer within ${timeoutMs} ms` });
    }, timeoutMs);
    const done = (answer: Answer): void => {
      clearTimeout(timer);
      resolve(answer);
    };
  });
}
