/** A root, and tokens below it, made by the command line as an operator makes them. */

import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { inject } from 'vitest';
import type { Scene } from './scene.ts';
import { run } from './tools.ts';

export type Files = Required<Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>>;

export interface TokenEnvironment extends Readonly<Record<string, string>> {
  readonly LEASEHOLD_TOKEN_FILE: string;
}

export class Tokens {
  readonly #scene: Scene;
  readonly #root: string;
  #made = 0;

  constructor(scene: Scene, name = 'ca') {
    this.#scene = scene;
    this.#root = scene.path(name);
  }

  /** The environment of a process with a token for this; the first makes the root. */
  async for(grants: string): Promise<TokenEnvironment> {
    this.#made += 1;
    const file = `${this.#root}-token-${this.#made}`;
    await this.#run('token', 'create', grants, '--root', this.#root, '--out', file, '--json');
    this.#scene.isSecret(readFileSync(file, 'utf8').trim());
    this.#scene.isSecret(readFileSync(`${this.#root}/root.key`, 'utf8').trim());
    return { LEASEHOLD_TOKEN_FILE: file };
  }

  /** Certificates of a token for this. */
  async files(grants: string): Promise<Files> {
    const { LEASEHOLD_TOKEN_FILE: file } = await this.for(grants);
    const directory = `${file}-files`;
    await this.#run('token', 'export', directory, '--token-file', file);
    const [ca, cert, key] = ['ca.pem', 'cert.pem', 'key.pem'].map((name) =>
      readFileSync(`${directory}/${name}`, 'utf8'),
    ) as [string, string, string];
    this.#scene.isSecret(key);
    return { ca, cert, key };
  }

  async #run(...argv: readonly string[]): Promise<void> {
    this.#scene.printed(
      await run(process.execPath, inject('programs')['cli'] as string, JSON.stringify({ argv })),
    );
  }
}
