/** A member of a group in the process of a Manager, with the same core and the same driver as in a real one. */

import { Candidate } from '../../../flease/core/candidate.ts';
import type { HeldLease } from '../../../flease/core/held-lease.ts';
import { DrivenMember } from '../../../flease/core/driven-member.ts';
import type { Member, MemberEvent } from '../../../flease/core/member.ts';
import type { Packet } from '../../../flease/core/messages.ts';
import type { ResolvedFleaseDurations } from '../../../flease/core/options.ts';
import type { Electorate } from '../../../flease/core/soft-log.ts';
import type { View } from '../../../flease/core/view.ts';
import type { Network } from '../../../sim/network.ts';
import type { SimRuntime } from '../../../sim/process.ts';

export interface SimulatedElectorateOptions {
  readonly id: string;
  readonly view: View;
  readonly durations: ResolvedFleaseDurations;
  readonly network: Network<Packet>;
  /** Whatever the member tells, before anybody else hears of it. */
  tells(event: MemberEvent): void;
}

export interface SimulatedElectorate extends Electorate {
  readonly member: Member;
}

const RESOURCE = 'manager';
const INCARNATIONS = 0x7fff_ffff;

export function simulatedElectorate(
  runtime: SimRuntime,
  { id, view, durations, network, tells }: SimulatedElectorateOptions,
): SimulatedElectorate {
  const transport = runtime.transport(network);
  const waiting = new Map<number, (held: HeldLease) => void>();
  const candidates = new Set<Candidate>();
  const soon = (callback: () => void): void => {
    runtime.wakeAt(runtime.now(), callback);
  };
  const driver = new DrivenMember({
    settings: {
      ...{ group: 'group', id, durations, view },
      incarnation: 1 + Math.floor(runtime.random() * INCARNATIONS),
      random: () => runtime.random(),
    },
    clock: { now: () => runtime.now(), wallMs: () => Math.floor(runtime.wallMs()) },
    alarm: (wake) => runtime.alarm(wake),
    atEndOfTurn: soon,
    send: (to, packet) => transport.send(to, packet),
    tell: (event) => {
      tells(event);
      if (event.kind !== 'granted') {
        for (const candidate of candidates) candidate.hear(event);
        return;
      }
      const granted = waiting.get(event.request);
      waiting.delete(event.request);
      granted?.(event.held);
    },
    isWanted: (request) => waiting.has(request),
  });
  transport.listen((_, packet) => driver.receive(packet));
  driver.start();
  let requests = 0;
  return {
    soon,
    member: driver.member,
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
            driver.input((reading) =>
              driver.member.request(RESOURCE, { kind: 'acquire', id: request }, reading),
            );
            return () => {
              waiting.delete(request);
              driver.input((reading) => driver.member.cancel(RESOURCE, request, reading));
            };
          },
          release: (held) => driver.input((reading) => driver.member.release(held, reading)),
        },
        events,
      );
      candidates.add(candidate);
      return candidate;
    },
  };
}
