/** What starting the servers of others has in common. */

import { createConnection } from 'node:net';
import process from 'node:process';
import { installed } from '../processes/peers.ts';
import type { Program } from '../processes/program.ts';
import type { Workshop } from '../processes/workshop.ts';

const ANSWER_WITHIN_MS = 1_000;

/** Starts a server that does not outlive this process, whatever becomes of it, where Linux can see to that. */
export function serve(workshop: Workshop, command: string, args: readonly string[]): number {
  const setpriv = installed('setpriv');
  return setpriv === undefined
    ? workshop.serve(command, args)
    : workshop.serve(setpriv, ['--pdeathsig', 'KILL', '--', command, ...args]);
}

/** Ends a client and the servers that were started for it. */
export function end(client: Program, servers: readonly number[]): void {
  client.kill();
  for (const pid of servers) process.kill(pid, 'SIGKILL');
}

/** What a server that speaks in lines answers to a word, until it closes the connection or has said `enough`. */
export function answerTo(port: number, word: string, enough: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = createConnection({ host: '127.0.0.1', port });
    const settle = (act: () => void): void => {
      socket.destroy();
      act();
    };
    socket.setTimeout(ANSWER_WITHIN_MS, () => settle(() => reject(new Error(`no answer to ${word.trim()}`))));
    socket.on('error', (error) => settle(() => reject(error)));
    socket.on('close', () => reject(new Error(`to ${word.trim()} it answered only “${answer}”`)));
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
      if (enough.test(answer)) settle(() => resolve(answer));
    });
    socket.write(word);
  });
}
