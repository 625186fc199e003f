/** A member of a group in the process of a Manager, with the same core and the same driver as in a real one. */

import { Candidate } from '../../../flease/candidate.ts';
import type { Tenure } from '../../../flease/tenure.ts';
import { FleaseDriver } from '../../../flease/driver.ts';
import type { Packet } from '../../../flease/messages.ts';
import type { ResolvedFleaseDurations } from '../../../flease/options.ts';
import type { Electorate } from '../../../flease/soft-log.ts';
import type { Network } from '../../../sim/network.ts';
import type { SimRuntime } from '../../../sim/process.ts';

export interface SimulatedElectorateOptions {
  readonly id: string;
  readonly members: readonly string[];
  readonly durations: ResolvedFleaseDurations;
  readonly network: Network<Packet>;
}

const RESOURCE = 'manager';
const LIVES = 0x7fff_ffff;

export function simulatedElectorate(
  runtime: SimRuntime,
  { id, members, durations, network }: SimulatedElectorateOptions,
): Electorate {
  const transport = runtime.transport(network);
  const waiting = new Map<number, (tenure: Tenure) => void>();
  const candidates = new Set<Candidate>();
  const soon = (callback: () => void): void => {
    runtime.wakeAt(runtime.now(), callback);
  };
  const driver = new FleaseDriver({
    settings: {
      ...{ group: 'group', id, durations, view: { number: 1, members, before: undefined } },
      life: 1 + Math.floor(runtime.random() * LIVES),
      random: () => runtime.random(),
    },
    clock: { now: () => runtime.now(), wallMs: () => Math.floor(runtime.wallMs()) },
    alarm: (wake) => runtime.alarm(wake),
    atEndOfTurn: soon,
    send: (to, packet) => transport.send(to, packet),
    tell: (event) => {
      if (event.kind !== 'granted') {
        for (const candidate of candidates) candidate.hear(event);
        return;
      }
      const granted = waiting.get(event.request);
      waiting.delete(event.request);
      granted?.(event.tenure);
    },
    isWanted: (request) => waiting.has(request),
  });
  transport.listen((_, packet) => driver.receive(packet));
  driver.start();
  let requests = 0;
  return {
    soon,
    stand: (events) => {
      const candidate = new Candidate(
        {
          clockSkewMs: durations.clockSkewMs,
          now: () => runtime.now(),
          leftMs: ({ untilMs }) => untilMs - (driver.member.timeAt(driver.read()) ?? untilMs),
          acquire: (granted) => {
            requests += 1;
            const request = requests;
            waiting.set(request, granted);
            driver.input((member, reading) =>
              member.request(RESOURCE, { kind: 'acquire', id: request }, reading),
            );
            return () => {
              waiting.delete(request);
              driver.input((member, reading) => member.cancel(RESOURCE, request, reading));
            };
          },
          release: (tenure) => driver.input((member, reading) => member.release(tenure, reading)),
        },
        events,
      );
      candidates.add(candidate);
      return candidate;
    },
  };
}
