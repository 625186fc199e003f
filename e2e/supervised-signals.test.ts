/**
 * `leasehold run -- node server.mjs`, and signals as shells, container runtimes, init systems and terminals send them: to
 * the whole process group, to the supervisor alone, and SIGKILL to the supervisor. The server is written as most are: its
 * first SIGTERM makes it leave the pool, a second one ends it on the spot.
 */

import { readFileSync } from 'node:fs';
import { describe, expect, inject, it } from 'vitest';
import type { Program, ProgramEvent } from './harness/program.ts';
import { type OwnerStart, onScene, type Scene } from './harness/scene.ts';
import { until } from './harness/time.ts';

const RUNS = 20;
/** As many as start at once on a small machine without waiting for each other. */
const AT_ONCE = 4;

/** `leasehold run`, in front of what is started. */
const supervisor = (managers: readonly string[], ...before: readonly string[]): readonly string[] => {
  const argv = ['run', '--managers', managers.join(','), '--', ...before];
  return [process.execPath, inject('programs')['cli'] ?? '', JSON.stringify({ argv })];
};

/** In a process group of its own, the number of which is `startedPid`, and not in that of the tests. */
const inGroup = (...command: readonly string[]): readonly string[] => ['setsid', ...command];

async function supervised(scene: Scene, start: OwnerStart): Promise<Program> {
  const { managers } = start;
  return scene.owner({ under: inGroup(...supervisor(managers)), leaveOn: ['SIGTERM', 'SIGINT'], ...start });
}

const leftCleanly = ({ events, ending }: Program): boolean =>
  events.some(({ event }) => event === 'left') && ending?.code === 0;

/** Its state, and its parent's number. */
const statusOf = (pid: number): readonly string[] =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
const isStopped = (pid: number): boolean => statusOf(pid)[0] === 'T';
const parentOf = (pid: number): number => Number(statusOf(pid)[1]);

const TARGETS: readonly (readonly [string, (server: Program) => number])[] = [
  ['its whole process group', ({ startedPid }) => -startedPid],
  ['its supervisor alone', ({ startedPid }) => startedPid],
];

describe('a supervised server', () => {
  for (const [called, target] of TARGETS) {
    it(
      `leaves the pool in ${RUNS} of ${RUNS} runs when SIGTERM is sent to ${called}`,
      onScene(async (scene) => {
        const { managers } = await scene.manager();
        let clean = 0;
        for (let run = 0; run < RUNS; run += AT_ONCE) {
          const names = Array.from({ length: AT_ONCE }, (_, index) => `server-${run + index}`);
          const servers = await Promise.all(names.map((name) => supervised(scene, { name, managers })));
          for (const server of servers) process.kill(target(server), 'SIGTERM');
          await Promise.all(servers.map((server) => server.ended));
          clean += servers.filter(leftCleanly).length;
        }
        expect(clean).toBe(RUNS);
      }),
    );
  }

  it(
    'behind a shell that dies of the signal leaves the pool too',
    onScene(async (scene) => {
      const { manager, managers } = await scene.manager();
      const under = inGroup(...supervisor(managers, 'sh', '-c', '"$@"; exit $?', 'sh'));
      const server = await supervised(scene, { name: 'server', managers, under });
      process.kill(-server.startedPid, 'SIGTERM');
      // Not the server: the input of the server ends with the supervisor, perhaps before the server has said so.
      await manager.event(isRelease, { called: 'that the server has given its keys back' });
      await server.ended;
    }),
  );

  it(
    'leaves the pool at one Ctrl-C on a terminal',
    onScene(
      async (scene) => {
        const { managers } = await scene.manager();
        const under = supervisor(managers);
        const server = await supervised(scene, { name: 'server', managers, under, onTerminal: true });
        server.type('\x03');
        await server.ended;
        expect(server.events.filter(({ event }) => event === 'signal')).toHaveLength(1);
        expect(leftCleanly(server)).toBe(true);
      },
      { needs: ['terminals'] },
    ),
  );

  it(
    'is stopped by Ctrl-Z with its supervisor, and goes on with it',
    onScene(
      async (scene) => {
        const { managers } = await scene.manager();
        const under = supervisor(managers);
        const server = await supervised(scene, { name: 'server', managers, under, onTerminal: true });
        server.type('\x1a');
        await until('the server is stopped', () => isStopped(server.pid) || undefined);
        await until('the terminal is stopped', () => isStopped(server.startedPid) || undefined);
        process.kill(server.startedPid, 'SIGCONT'); // `script` then continues the supervisor, as a shell does at `fg`.
        await until('the server goes on', () => !isStopped(server.pid) || undefined);
      },
      { needs: ['terminals'] },
    ),
  );

  it(
    'leaves the pool when its supervisor is killed with the whole process group',
    onScene(async (scene) => {
      const { managers } = await scene.manager();
      // A shell in front that stays: the test's pipes to the server end with what it started.
      const shell = ['sh', '-c', '"$@"; exec tail -f /dev/null', 'sh'];
      const under = [...shell, ...inGroup(...supervisor(managers))];
      const a = await supervised(scene, { name: 'a', managers, under });
      const b = await scene.owner({ name: 'b', managers });
      await scene.shared(a, b);
      process.kill(-parentOf(a.pid), 'SIGKILL'); // Its supervisor leads the group.
      await a.event('left');
      await scene.shared(b);
    }),
  );
});

const isRelease = ({ message, facts }: ProgramEvent): boolean =>
  message === 'committed' && /^free.*leave/.test((facts as { readonly records: string }).records);
