/** A machine with one replica, the real one: its process, its directory, the copies of that, and the list that the operator gave. */

import { AsyncDisposableStack } from '../../../runtime/async-disposable-stack.ts';
import { silent } from '../../../runtime/logger.ts';
import type { Runtime, Storage } from '../../../runtime/runtime.ts';
import { SimDisk } from '../../../sim/disk.ts';
import { SimProcess, type SimRuntime } from '../../../sim/process.ts';
import type { Random } from '../../../sim/random.ts';
import { resolveQuorumDurations } from '../../core/options.ts';
import { QuorumReplica } from '../../shell/quorum-replica.ts';
import { openIdentity } from '../../shell/start-replica.ts';
import { WireDialer, type WireEnd, WirePort, type Wires } from './wires.ts';

/** What the world knows of a directory. */
export interface Directory {
  readonly bornMs: number;
  readonly wasRestored: boolean;
  /** The founders of the cluster that the directory names. */
  founders: string | undefined;
}

interface Copy {
  readonly files: ReadonlyMap<string, Uint8Array>;
  readonly directory: Directory;
}

export class Machine {
  readonly name: string;
  /** Which of the lists the machine belongs to. */
  readonly label: string;
  readonly address: string;
  readonly process: SimProcess;
  /** The replicas by name, as the operator believes. */
  list: ReadonlyMap<string, string> = new Map();
  directory: Directory;
  end: WireEnd | undefined;
  replica: QuorumReplica | undefined;
  /** The files are being copied: nothing can be started. */
  isBusy = false;
  copy: Copy | undefined;
  readonly #wires: Wires;
  readonly #random: Random;
  readonly #ended: (machine: Machine, error: unknown) => void;
  #disk: SimDisk;
  #disks = 0;
  #port: WirePort | undefined;
  #dialer: WireDialer | undefined;

  constructor(wires: Wires, label: string, name: string, ended: (machine: Machine, error: unknown) => void) {
    this.#wires = wires;
    this.#ended = ended;
    this.label = label;
    this.name = name;
    this.address = `${label}.${name}`;
    this.#random = wires.random.fork(this.address);
    this.#disk = this.#newDisk();
    this.directory = this.#newDirectory();
    this.process = new SimProcess(wires.world, {
      name: this.address,
      start: (runtime) => {
        this.#live(runtime).catch((error: unknown) => {
          if (runtime.alive) this.#ended(this, error);
        });
      },
    });
  }

  start(): void {
    if (!this.process.alive && !this.isBusy) this.process.start();
  }

  crash(isPowerCut: boolean): void {
    if (!this.process.alive) return;
    this.process.crash();
    this.#port?.crash();
    this.#dialer?.crash();
    this.replica = undefined;
    this.end = undefined;
    if (isPowerCut) this.#disk.crash();
  }

  /** Somebody replaces the disk. */
  empty(): void {
    this.crash(true);
    this.#disk = this.#newDisk();
    this.directory = this.#newDirectory();
  }

  /** Copies the files of a process that has ended. */
  backUp(): Promise<void> {
    return this.#busily(async () => {
      const files = new Map<string, Uint8Array>();
      for (const name of await this.#disk.list()) {
        const file = await this.#disk.open(name);
        files.set(name, await file.read(0, await file.size()));
      }
      this.copy = { files, directory: { ...this.directory } };
    });
  }

  restore({ files, directory }: Copy): Promise<void> {
    return this.#busily(async () => {
      this.#disk = this.#newDisk();
      this.directory = { ...directory, wasRestored: true };
      const storage: Storage = this.#disk;
      for (const [name, bytes] of files) {
        const file = await storage.open(name);
        await file.write(0, bytes);
        await file.sync();
      }
      await storage.syncDirectory();
    });
  }

  async #busily(act: () => Promise<void>): Promise<void> {
    this.crash(false);
    this.isBusy = true;
    await act();
    this.isBusy = false;
  }

  #newDisk(): SimDisk {
    this.#disks += 1;
    return new SimDisk(this.#wires.world, { name: `${this.address} ${this.#disks}`, syncMs: [0.5, 20] });
  }

  #newDirectory(): Directory {
    const bornMs = this.#wires.world.trueMs;
    return { bornMs, wasRestored: false, founders: undefined };
  }

  /** As `startReplica` does, without a lock and without sockets. */
  async #live(sim: SimRuntime): Promise<void> {
    const { name, address, list } = this;
    const disk = this.#disks;
    const storage = sim.storage(this.#disk);
    const places = { of: (file = '') => `${disk} ${file}`, modifiedMs: () => 0 };
    const randomId = (): string => this.#random.integer(0, 2 ** 48).toString(16);
    const wanted = { name, cell: 'g', newcomer: false, path: address, randomId };
    const { identity, isNew, isCopy } = await openIdentity(wanted, storage, places, 0);
    // The time in the file `place` is not under test: the disk of a copy has another number.
    const runtime: Runtime = {
      now: () => sim.now(),
      wallMs: () => 0,
      uptimeMs: () => sim.uptimeMs(),
      wakeAt: (at, callback) => sim.wakeAt(at, callback),
      random: () => sim.random(),
    };
    const greeting: Record<string, string> = { cell: 'g', name, storage: identity.storage };
    const gone = (connection: string): void => this.replica?.gone(connection);
    const founders = (): string | undefined => this.directory.founders;
    const end: WireEnd = { address, runtime: sim, greeting, founders, gone };
    const port = new WirePort(this.#wires, end);
    const closing = new AsyncDisposableStack();
    closing.defer(() => port.closeAll());
    const replica = new QuorumReplica({
      ...{ identity, isNew, isCopy, places, greeting, address, runtime, closing },
      ...{ listener: port, peers: list, secure: undefined, logger: silent, process: randomId() },
      directory: { path: address, storage, isInPlace: async () => true, [Symbol.dispose]: () => {} },
      placement: { mode: 'all' },
      durations: resolveQuorumDurations({ electionMs: 2_000, heartbeatEveryMs: 600, leaseMs: 6_000 }),
      dial: (options) => {
        this.#dialer = new WireDialer(this.#wires, end, options);
        return this.#dialer;
      },
    });
    this.#port = port;
    this.end = end;
    this.replica = replica;
    void replica.closed.then((error) => {
      if (sim.alive && error !== undefined) this.#ended(this, error);
    });
    await replica.begin();
  }
}
