/** Ten owners in ten processes and their Manager. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nowMs, pause } from '../processes/conversation.ts';
import type { ManagerConfig, Traffic } from '../processes/manager-process.ts';
import type { Program } from '../processes/program.ts';
import type { Workshop } from '../processes/workshop.ts';
import type { Holding, OwnerConfig } from './owner-process.ts';
import { type Ownership, ownership, type Sample } from './sample.ts';

const RING = 2n ** 64n;
const ESTABLISHED_WITHIN_MS = 60_000;

export interface Rate {
  readonly messagesPerSecond: number;
  readonly bytesPerSecond: number;
}

export class ItemsFleet {
  readonly #manager: Program;
  readonly #owners: readonly Program[];
  readonly #directory: string;

  private constructor(manager: Program, owners: readonly Program[], directory: string) {
    this.#manager = manager;
    this.#owners = owners;
    this.#directory = directory;
  }

  static async open(workshop: Workshop, size: number): Promise<ItemsFleet> {
    const config: ManagerConfig = { directory: workshop.folder('manager') };
    const manager = workshop.start('the Manager', await workshop.bundle('processes/manager-process'), config);
    const managers = [String((await manager.heard('ready'))['address'])];
    const bundle = await workshop.bundle('items/owner-process');
    const owners = Array.from({ length: size }, (_, index) => {
      const owner: OwnerConfig = { name: `owner-${index}`, managers };
      return workshop.start(owner.name, bundle, owner);
    });
    for (const owner of owners) await owner.heard('ready');
    return new ItemsFleet(manager, owners, workshop.folder('ownership'));
  }

  /**
   * All join at once. How long, in milliseconds, until everybody has a share, the shares together are
   * everything, and nothing moves any more.
   */
  async establish(pool: string): Promise<number> {
    const startedMs = nowMs();
    await this.#all('join', { pool });
    let before = '';
    for (;;) {
      const holdings = await this.#all<Holding>('holding');
      const now = JSON.stringify(holdings);
      const places = holdings.map((holding) => BigInt(holding.places));
      const isEverything = places.reduce((sum, each) => sum + each, 0n) === RING;
      if (isEverything && places.every((each) => each > 0n) && now === before) {
        return Math.max(...holdings.map(({ changedMs }) => changedMs)) - startedMs;
      }
      if (nowMs() - startedMs > ESTABLISHED_WITHIN_MS) throw new Error(`${pool} was not established: ${now}`);
      before = now;
      await pause(50);
    }
  }

  /** What all messages between owners and Manager come to, while nothing happens. */
  async keep(ms: number): Promise<Rate> {
    const [before, fromMs] = [await this.#manager.ask<Traffic>('traffic'), nowMs()];
    await pause(ms);
    const [after, toMs] = [await this.#manager.ask<Traffic>('traffic'), nowMs()];
    const seconds = (toMs - fromMs) / 1_000;
    return {
      messagesPerSecond: (after.messages - before.messages) / seconds,
      bytesPerSecond: (after.bytes - before.bytes) / seconds,
    };
  }

  /**
   * Every owner asks for the lease of every item of the sample. In turn, the owner that asks has a core
   * to itself; at once, ten keep each other from running, as on a machine that has too much to do.
   */
  async check(sample: Sample, how: 'in turn' | 'at once'): Promise<Ownership> {
    const checking: Promise<Uint8Array>[] = [];
    for (const owner of this.#owners) {
      const answer = this.#checkedBy(owner, sample);
      checking.push(answer);
      if (how === 'in turn') await answer;
    }
    return ownership(sample.count, await Promise.all(checking));
  }

  async ranges(): Promise<number> {
    return (await this.#all<Holding>('holding')).reduce((sum, { ranges }) => sum + ranges, 0);
  }

  async leave(): Promise<void> {
    await this.#all('leave');
  }

  async #checkedBy(owner: Program, sample: Sample): Promise<Uint8Array> {
    const file = join(this.#directory, owner.name);
    await owner.ask('check', { sample, file });
    return readFileSync(file);
  }

  #all<Answer>(command: string, facts: object = {}): Promise<Answer[]> {
    return Promise.all(this.#owners.map((owner) => owner.ask<Answer>(command, facts)));
  }
}
