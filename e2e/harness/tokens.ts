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
  readonly #made = new Map<string, Promise<TokenEnvironment>>();
  readonly #exported = new Map<string, Promise<Files>>();
  #isFounded: Promise<void> | undefined;

  constructor(scene: Scene, name = 'ca') {
    this.#scene = scene;
    this.#root = scene.path(name);
  }

  /** The environment of a process with a token for this, the same for the same grants. */
  for(grants: string): Promise<TokenEnvironment> {
    const made = this.#made.get(grants) ?? this.#make(grants, this.#made.size + 1);
    this.#made.set(grants, made);
    return made;
  }

  /** Certificates of that token. */
  files(grants: string): Promise<Files> {
    const exported = this.#exported.get(grants) ?? this.#export(grants);
    this.#exported.set(grants, exported);
    return exported;
  }

  async #make(grants: string, number: number): Promise<TokenEnvironment> {
    this.#isFounded ??= this.#run('ca', 'create', '--root', this.#root, '--json');
    await this.#isFounded;
    const file = `${this.#root}-token-${number}`;
    await this.#run('token', 'create', grants, '--root', this.#root, '--out', file, '--json');
    this.#scene.isSecret(readFileSync(file, 'utf8').trim());
    this.#scene.isSecret(readFileSync(`${this.#root}/root.key`, 'utf8'));
    return { LEASEHOLD_TOKEN_FILE: file };
  }

  async #export(grants: string): Promise<Files> {
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
