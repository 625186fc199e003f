/**
 * A route of a service, with the lines about the route in the OpenAPI document, and the answers of routes. There is no
 * socket here: `node/http` finds the route of a request and sends the answer.
 */

import { SingleError } from '../../runtime/errors.ts';
import { printableJson } from '../../runtime/printable.ts';
import {
  failure,
  type HttpAnswer,
  type HttpRequest,
  type HttpRoute,
  type HttpTextAnswer,
} from '../http/exchange.ts';
import type { Schema } from './schema.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
}

export interface ServiceRoute extends HttpRoute {
  /** A GET only reads. */
  readonly method: 'GET' | 'POST';
  readonly summary: string;
  readonly parameters: readonly Parameter[];
  readonly contentType: string;
  /** The shape of a JSON answer. */
  readonly schema: Schema | undefined;
  /** Statuses other than 200, and when they are given. */
  readonly problems: Readonly<Record<number, string>>;
}

/** The required part of a route; the rest has defaults. */
export type RouteDraft = Pick<ServiceRoute, 'path' | 'summary' | 'answer'> & Partial<ServiceRoute>;

/** A {@link RequestProblem} that the route throws becomes the answer. */
export const route = (draft: RouteDraft): ServiceRoute => ({
  method: 'GET',
  parameters: [],
  contentType: 'application/json',
  schema: undefined,
  problems: {},
  ...draft,
  answer: (request) => orProblem(draft, request),
});

function orProblem(draft: RouteDraft, request: HttpRequest): HttpAnswer {
  try {
    return draft.answer(request);
  } catch (problem) {
    if (problem instanceof RequestProblem) return problem.toAnswer();
    throw problem;
  }
}

export const pathParameter = (name: string, description: string): Parameter => ({
  ...{ name, in: 'path', required: true, description },
  schema: { type: 'string' },
});

export const queryParameter = (name: string, description: string, type = 'string'): Parameter => ({
  ...{ name, in: 'query', required: false, description },
  schema: { type },
});

export const textAnswer = (body: string, contentType: string, status = 200): HttpTextAnswer => ({
  kind: 'text',
  status,
  headers: { 'content-type': contentType },
  body,
});

export const jsonAnswer = (value: unknown, status = 200): HttpTextAnswer =>
  textAnswer(`${printableJson(value)}\n`, 'application/json; charset=utf-8', status);

/** The request cannot be answered, and the request is to blame. */
export class RequestProblem extends SingleError {
  override readonly name = 'RequestProblem';
  readonly code: string;
  readonly retryable = false;
  readonly status: number;
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(status: number, code: string, message: string, facts: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.facts = facts;
  }

  toAnswer(): HttpTextAnswer {
    return failure(this.status, this.code, this.message, { facts: this.facts });
  }
}

/** A whole number from the query, within bounds. @throws {RequestProblem} */
export function wholeNumber(
  query: URLSearchParams,
  name: string,
  { least, most, otherwise }: { readonly least: number; readonly most: number; readonly otherwise: number },
): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new RequestProblem(
    400,
    'INVALID_PARAMETER',
    `${name} is "${text}", but it must be a whole number from ${least} to ${most}`,
  );
}
