/** Runs a program, and throws what it said if it fails. */

import { spawn } from 'node:child_process';
import { CommandError } from '../command.mjs';
import { root } from '../project.mjs';

/**
 * @param {string} what for the person who reads that it failed
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv }} [options]
 * @returns {Promise<string>} what it printed
 */
export function run(what, command, args, options = {}) {
  const child = spawn(command, args, { cwd: root, ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, complaints] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text) => (output += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (complaints += text));
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new CommandError(`${what} failed: ${error.message}`)));
    child.on('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new CommandError(`${what} failed with ${code}:\n${output}${complaints}`));
    });
  });
}
