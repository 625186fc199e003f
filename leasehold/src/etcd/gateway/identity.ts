/**
 * Which cluster is meant by a list of endpoints. Nothing is asked before that is known.
 *
 * A member that lost its disk and was set up again at the same address, as a cluster of its own, answers like any
 * other, and shows an empty etcd: a client that believed this member would begin a log there, and lead beside the
 * leaders of the real cluster. From one answer nobody can tell. So each endpoint is asked for its cluster:
 *
 *  - Most of them name one cluster, and none names another: that cluster is intended, and later answers are compared
 *    with it.
 *  - Two name different clusters: an operator has to look. To follow the greater number would be to guess which of the
 *    two the other processes use, which may have other endpoints.
 *  - Too few answer: the question is repeated with the next request. Most of etcd may be down; and where most of the
 *    endpoints are no longer members, the list has to be mended.
 *
 * For a single endpoint there is nothing to compare with: the first answer counts.
 */

import { later } from '../../runtime/time.ts';
import type { EtcdAnswer, EtcdRefusal } from '../client.ts';
import { clusterOf } from './answers.ts';
import { Call, type Tokens } from './call.ts';
import type { GatewayDependencies } from './dependencies.ts';

/** Independent of the time of the waiting requests: an endpoint that hangs is not waited for longer. */
const ASK_MS = 1_000;

type Known = Exclude<EtcdAnswer<undefined>, { readonly kind: 'unknown' }>;

interface Waiting {
  readonly timer: Disposable;
  readonly use: (known: Known) => void;
}

/** The answer of an endpoint. */
type Word =
  | { readonly endpoint: string; readonly clusterId: string }
  | { readonly endpoint: string; readonly refusal: EtcdRefusal };

const KNOWN: Known = { kind: 'done', value: undefined };

export class Identity {
  readonly #around: GatewayDependencies;
  readonly #tokens: Tokens | undefined;
  readonly #waiting = new Set<Waiting>();
  #isAsking = false;

  constructor(around: GatewayDependencies, tokens: Tokens | undefined) {
    this.#around = around;
    this.#tokens = tokens;
  }

  /** Calls back once, within that time; within the call if known already. Refused: then nothing may be asked. */
  whenKnown(withinMs: number, use: (known: Known) => void): void {
    const { clusterId, endpoints, runtime } = this.#around;
    if (clusterId !== undefined || endpoints.all.length === 1) {
      use(KNOWN);
      return;
    }
    const timer = runtime.wakeAt(later(runtime.now(), withinMs), () => {
      this.#waiting.delete(waiting);
      use(refused('unavailable', `not known within ${Math.round(withinMs)} ms which cluster it is`));
    });
    const waiting = { timer, use };
    this.#waiting.add(waiting);
    if (!this.#isAsking) this.#ask();
  }

  #ask(): void {
    const { endpoints } = this.#around;
    const words: Word[] = [];
    this.#isAsking = true;
    const path = '/v3/maintenance/status';
    const question = { path, body: '{}', read: clusterOf, kind: 'read', needsLeader: false } as const;
    for (const endpoint of endpoints.all) {
      const options = { timeoutMs: ASK_MS, tokens: this.#tokens, endpoints: [endpoint] };
      new Call(this.#around, question, options, (answer) => {
        words.push({ endpoint, ...saidIn(answer) });
        if (words.length === endpoints.all.length) this.#heard(words);
      });
    }
  }

  #heard(words: readonly Word[]): void {
    this.#isAsking = false;
    const named = new Map<string, readonly string[]>();
    for (const word of words)
      if ('clusterId' in word)
        named.set(word.clusterId, [...(named.get(word.clusterId) ?? []), word.endpoint]);
    const [[clusterId, agreeing] = ['', []]] = named;
    let known: Known;
    if (named.size > 1) known = refused('divided', dividedBetween(named));
    else if (agreeing.length * 2 > words.length) {
      this.#around.clusterId = clusterId;
      known = KNOWN;
    } else known = tooFew(words);
    const all = [...this.#waiting];
    this.#waiting.clear();
    for (const { timer, use } of all) {
      timer[Symbol.dispose]();
      use(known);
    }
  }
}

function saidIn(
  answer: EtcdAnswer<string | undefined>,
): { readonly clusterId: string } | { readonly refusal: EtcdRefusal } {
  if (answer.kind === 'refused') return { refusal: answer.refusal };
  if (answer.kind === 'unknown') return { refusal: { reason: 'unavailable', message: answer.why } };
  const message = 'it does not say which cluster it belongs to';
  return answer.value === undefined ? { refusal: { reason: 'other', message } } : { clusterId: answer.value };
}

const dividedBetween = (named: ReadonlyMap<string, readonly string[]>): string =>
  [...named].map(([clusterId, endpoints]) => `cluster ${clusterId} at ${endpoints.join(', ')}`).join('; ');

/** With a fault that an operator has to mend, if an endpoint named one. */
function tooFew(words: readonly Word[]): Known {
  const refusals = words.flatMap((word) => ('refusal' in word ? [word.refusal] : []));
  const { reason } = refusals.find((each) => each.reason === 'denied') ?? { reason: 'unavailable' };
  const said = `${words.length - refusals.length} of ${words.length} endpoints say which cluster they belong to`;
  return refused(reason, [said, ...new Set(refusals.map(({ message }) => message))].join('; '));
}

const refused = (reason: EtcdRefusal['reason'], message: string): Known => ({
  kind: 'refused',
  refusal: { reason, message },
});
