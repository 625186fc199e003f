/** The owner's core on a line, at the papers' pace. */

import { alarmOn, Driver } from '../../../leasehold/src/runtime/driver.ts';
import type { Runtime } from '../../../leasehold/src/runtime/runtime.ts';
import { SuspensionGuard } from '../../../leasehold/src/runtime/suspension.ts';
import { digest } from '../../../leasehold/src/runtime/digest.ts';
import { newSigner } from '../../../leasehold/src/node/signer.ts';
import { prove } from '../../../leasehold/src/pool/core/incarnation.ts';
import { PAPER_DURATIONS, resolveDurations } from '../../../leasehold/src/pool/core/options.ts';
import { Owner, type OwnerEffect } from '../../../leasehold/src/pool/core/owner/owner.ts';
import { clientCodec } from '../../../leasehold/src/pool/wire/codec.ts';
import { Line } from './line.ts';

const POOL = 'bench';
const durations = resolveDurations(PAPER_DURATIONS);

export class FleetOwner {
  readonly name: string;
  readonly secret: string;
  readonly core: Owner;
  readonly line: Line;
  readonly #driver: Driver<OwnerEffect>;
  /** It has keys to serve. */
  isServing = false;

  constructor(runtime: Runtime, port: number, name: string, life: number) {
    this.name = name;
    const signer = newSigner();
    this.secret = `secret of ${name}.${life}`;
    this.core = new Owner(
      {
        identity: {
          pool: POOL,
          incarnation: signer.incarnation,
          name,
          url: `http://10.0.0.1:8080/${name}`,
          proof: digest(this.secret),
        },
        managers: ['manager'],
        durations,
        loads: false,
        flushes: false,
        random: () => runtime.random(),
      },
      runtime.now(),
    );
    const guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    this.#driver = new Driver<OwnerEffect>({
      core: this.core,
      clock: runtime,
      guard,
      alarm: (wake) => alarmOn(runtime, wake),
      execute: (effect) => {
        if (effect.do === 'send') this.line.send(effect.message);
        if (effect.do === 'granted') this.isServing = true;
      },
    });
    this.line = new Line(
      port,
      'owner',
      (channel) => {
        this.line.send(prove(signer, POOL, channel));
        this.#driver.input((now) => this.core.wake(now));
      },
      (frame) => {
        const message = clientCodec.decode(frame);
        if (message.kind === 'update')
          this.#driver.input((now) => this.core.receive('manager', message, now));
      },
    );
  }

  die(): void {
    this.#driver.stop();
    this.line.cut();
  }
}
