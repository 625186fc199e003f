/**
 * The code in the documents, compiled and run as a reader would: in a project of its own, strictly,
 * against the package as it names itself. The project lies in the cache beside `node_modules`, so that
 * other packages are found; what `leasehold/…` stands for is our own source.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { bundle } from '../bundle.mjs';
import { cache, root, tools } from '../project.mjs';
import type { Block, Document } from './markdown.ts';

export interface Example {
  /** Where it is in the documents: `docs/concepts.md:40`. */
  readonly place: string;
  readonly file: string;
  /** What it prints; undefined if the document does not say. */
  readonly prints: string | undefined;
  readonly runs: boolean;
}

export interface Ended {
  readonly code: number | string;
  readonly out: string;
}

const RUN_WITHIN_MS = 60_000;

export class ExampleProject implements Disposable {
  readonly examples: readonly Example[];
  readonly #directory: string;

  constructor(documents: readonly Document[]) {
    mkdirSync(cache, { recursive: true });
    this.#directory = mkdtempSync(join(cache, 'leasehold-docs-'));
    this.examples = documents.flatMap((document) => this.#write(document));
    writeFileSync(join(this.#directory, 'package.json'), '{ "type": "module" }\n');
    writeFileSync(join(this.#directory, 'tsconfig.json'), JSON.stringify(configuration()));
  }

  /** What the compiler has against them, in the places of the documents. */
  async compile(): Promise<readonly string[]> {
    const { code, out } = await run([tools.tsc, '-p', this.#directory, '--pretty', 'false'], this.#directory);
    if (code === 0) return [];
    return out.split('\n').flatMap((line) => {
      const [, file = '', at = '0', what = ''] = /^(\S+?)\((\d+),\d+\): error (.*)$/.exec(line) ?? [];
      const example = this.examples.find((each) => each.file === join(this.#directory, file));
      if (example === undefined) return line.trim() === '' ? [] : [line];
      const [document, first] = example.place.split(':');
      return [`${document}:${Number(first) + Number(at)}: ${what}`];
    });
  }

  async run({ file }: Example): Promise<Ended> {
    return run([await bundle(file)], this.#directory);
  }

  /** One that goes on until somebody ends it. */
  async start(
    example: Example | undefined,
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<ChildProcess> {
    if (example === undefined) throw new Error('there is no such example');
    return spawn(process.execPath, [await bundle(example.file), ...args], {
      ...{ cwd: this.#directory, env: { ...process.env, ...environment }, stdio: 'ignore' },
    });
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  #write({ path, blocks }: Document): Example[] {
    return blocks.flatMap((block, index) => {
      if (block.language !== 'ts' || block.words.includes('ignore')) return [];
      const file = join(this.#directory, path.replace(/\.md$/, ''), fileOf(block));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, block.text);
      const next = blocks[index + 1];
      const prints = next?.language === 'text' && next.words.includes('prints') ? next.text : undefined;
      return [{ place: `${path}:${block.line}`, file, prints, runs: block.words.includes('run') }];
    });
  }
}

const fileOf = ({ words, line }: Block): string =>
  words.find((word) => word.startsWith('file='))?.slice('file='.length) ?? `line-${line}.ts`;

function configuration(): object {
  const home = join(root, 'leasehold');
  const manifest = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  };
  const paths = Object.entries(manifest.exports).flatMap(([name, target]) =>
    typeof target === 'string'
      ? []
      : [[`leasehold${name.slice(1)}`, [sourceOf(join(home, target.default))]] as const],
  );
  return {
    extends: join(root, 'tsconfig.base.json'),
    compilerOptions: {
      ...{ noEmit: true, declaration: false, isolatedDeclarations: false, moduleDetection: 'force' },
      ...{
        noUnusedLocals: false,
        noUnusedParameters: false,
        typeRoots: [join(root, 'node_modules', '@types')],
      },
      paths: Object.fromEntries(paths),
    },
    include: ['**/*.ts'],
  };
}

const sourceOf = (built: string): string => built.replace('/dist/', '/src/').replace(/\.js$/, '.ts');

function run(args: readonly string[], directory: string): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...args],
      { cwd: directory, timeout: RUN_WITHIN_MS },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : (error.code ?? error.signal ?? 'unknown');
        resolve({ code, out: error === null ? stdout : `${stdout}${stderr}` });
      },
    );
  });
}
