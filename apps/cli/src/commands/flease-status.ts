import { Command } from 'commander';
import type { HolderAnswer, MemberStatusAnswer, PeerAnswer } from 'leasehold/internal';
import type { Context } from '../context.ts';
import { resourcePath } from '../flease/resource-path.ts';
import { jsonOption, withExamples } from '../options.ts';
import { clockTime, counted, duration, type JsonOption, show, table } from '../output.ts';
import { MEMBER } from '../respondents.ts';
import { type PlaceOption, placeOption, serviceApi } from '../service/place.ts';

export function fleaseStatusCommand(context: Context): Command {
  const command = new Command('status')
    .summary('Show a member and its cell, or the holder of a resource')
    .description(
      'Ask a running member ("flease start", or "flease hold" with --http) for its own state and that of its peers, or for the holder of a resource.',
    )
    .argument('[resource]', 'show the holder of this resource')
    .addOption(placeOption(MEMBER))
    .addOption(jsonOption())
    .action(async (resource: string | undefined, options: PlaceOption & JsonOption) => {
      const api = serviceApi(context, options, MEMBER);
      if (resource === undefined) {
        const status = await api.get<MemberStatusAnswer>('/v1/status');
        show(context, options, status, () => statusLines(status));
        return;
      }
      const answer = await api.get<HolderAnswer>(await api.pathOf(resourcePath('/holder', resource)));
      show(context, options, answer, () => [holderLine(answer)]);
    });
  return withExamples(command, context, [
    ['flease status', 'a member on this machine, and how far the clocks of the others are off'],
    ['flease status backup', 'who has it'],
    ['flease status --at 10.0.0.2:7501 --json', 'another member, for programs'],
  ]);
}

export function statusLines(status: MemberStatusAnswer): readonly string[] {
  const { name, instance, peersVersion, isSettled, recovery, held, waiting, registers, attempts, peers } =
    status;
  const { leaseMs, clockSkewMs, closed } = status;
  return [
    `Member ${name} of cell ${instance} ${(closed ?? recovery)?.words ?? 'is ready'}`,
    `  peers        version ${peersVersion}${isSettled ? '' : ', not settled yet: members of the one before are still needed'}`,
    `  durations    lease ${duration(leaseMs)}, skew ${duration(clockSkewMs)}`,
    `  holds        ${counted(held, 'lease')}; ${counted(waiting, 'request')} waiting`,
    `  remembers    ${counted(registers, 'resource')} for the cell`,
    `  attempts     ${attempts}`,
    '',
    ...(peers.length === 0
      ? ['There are no other members.']
      : table(['PEER', 'ADDRESS', 'CONNECTED', 'HEARD', 'CLOCK AHEAD BY', ''], peers.map(peerCells))),
  ];
}

const peerCells = (peer: PeerAnswer): readonly string[] => [
  peer.name,
  peer.address ?? '-',
  peer.connected ? 'yes' : 'no',
  peer.heardAgoMs === null ? 'never' : `${duration(peer.heardAgoMs)} ago`,
  peer.clockAheadMs === null ? 'not known' : boundsWords(peer.clockAheadMs),
  peer.problem ?? peer.trouble?.words ?? '',
];

const boundsWords = ({ atLeast, atMost }: NonNullable<PeerAnswer['clockAheadMs']>): string =>
  atMost === null
    ? `at least ${Math.round(atLeast)} ms`
    : `${Math.round(atLeast)} to ${Math.round(atMost)} ms`;

function holderLine({ resource, holder }: HolderAnswer): string {
  const what = JSON.stringify(resource);
  if (holder === null) return `Nobody has ${what}.`;
  return `${holder.holder} has ${what}, under number ${holder.number}, until ${clockTime(holder.validUntil)} unless it is renewed.`;
}
