/**
 * A request as a route sees it, and what a route may answer. There is no socket in it: whoever has one
 * (`node/http`, joined to this by the shell) finds the route, calls it and sends what it returns.
 */

import { LeaseholdError } from '../../runtime/errors.ts';

export interface ApiRequest {
  /** What stands in the places of `{names}` in the route's path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** By its name in small letters. */
  header(name: string): string | undefined;
}

export interface TextAnswer {
  readonly kind: 'text';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One message of a stream of server-sent events. */
export interface StreamedEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** A stream without end. It is read as fast as the other side takes it, and no faster. */
export interface StreamAnswer {
  readonly kind: 'stream';
  open(onMore: () => void): Disposable & { next(): StreamedEvent | undefined };
}

/** What was asked for takes a while. */
export interface PromisedAnswer {
  readonly kind: 'promised';
  readonly answer: Promise<TextAnswer>;
}

export type ApiAnswer = TextAnswer | StreamAnswer | PromisedAnswer;

/** A JSON Schema, as far as the API needs it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly (string | null)[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: Schema;
}

/** A route, and what the OpenAPI document says about it. */
export interface ApiRoute {
  /** `/v1/pools/{pool}` */
  readonly path: string;
  /** A GET only reads. */
  readonly method: 'GET' | 'POST';
  readonly summary: string;
  readonly parameters: readonly Parameter[];
  readonly contentType: string;
  /** What a JSON answer looks like. */
  readonly schema: Schema | undefined;
  /** Statuses other than 200, and when they are given. */
  readonly problems: Readonly<Record<number, string>>;
  answer(request: ApiRequest): ApiAnswer;
}

export const json = (value: unknown, status = 200): TextAnswer => ({
  kind: 'text',
  status,
  headers: { 'content-type': 'application/json; charset=utf-8' },
  body: `${JSON.stringify(value)}\n`,
});

/** The request cannot be answered, and it is the request's doing. */
export class ApiProblem extends LeaseholdError {
  override readonly name = 'ApiProblem';
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

  toAnswer(): TextAnswer {
    return json({ error: { code: this.code, message: this.message, ...this.facts } }, this.status);
  }
}

/** A whole number from the query, within bounds. */
export function wholeNumber(
  query: URLSearchParams,
  name: string,
  { least, most, otherwise }: { readonly least: number; readonly most: number; readonly otherwise: number },
): number {
  const text = query.get(name);
  if (text === null) return otherwise;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new ApiProblem(
    400,
    'INVALID_PARAMETER',
    `${name} is "${text}", but it must be a whole number from ${least} to ${most}`,
  );
}
