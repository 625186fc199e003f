/**
 * The limiter in the web frameworks of Node. Each adapter only carries a decision of `limit-request.ts` into the
 * framework's own answer; the frameworks' types are described by the few members that are used, so that none of
 * them is needed to install or to compile this package.
 *
 * An error in the application's own functions (`key`, `options`) goes the framework's way for errors.
 */

import type { Limiter } from '../limiter.ts';
import { type HttpLimitOptions, requestLimit } from './limit-request.ts';

/** What `node:http` and everything built on it have. */
export interface NodeResponse {
  setHeader(name: string, value: string): unknown;
  statusCode: number;
  end(body: string): unknown;
}

/** For `node:http`: resolves to true if the request may go on; otherwise it has been answered with 400, 429 or 503. */
export function nodeLimit<Request>(
  limiter: Limiter,
  options: HttpLimitOptions<Request>,
): (request: Request, response: NodeResponse) => Promise<boolean> {
  const limit = requestLimit(limiter, options);
  return async (request, response) => {
    const decision = await limit(request);
    for (const [name, value] of Object.entries(decision?.headers ?? {})) response.setHeader(name, value);
    if (decision?.denial === undefined) return true;
    response.statusCode = decision.denial.status;
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(decision.denial.body));
    return false;
  };
}

/** For Express 4 and 5, Connect and the like: `app.use(expressLimit(limiter, { key }))`. */
export function expressLimit<Request>(
  limiter: Limiter,
  options: HttpLimitOptions<Request>,
): (request: Request, response: NodeResponse, next: (error?: unknown) => void) => void {
  const limit = nodeLimit(limiter, options);
  return (request, response, next) => {
    limit(request, response).then((mayGoOn) => {
      if (mayGoOn) next();
    }, next);
  };
}

interface FastifyReply {
  header(name: string, value: string): unknown;
  code(status: number): { send(body: unknown): unknown };
}

/** For Fastify, as a hook: `app.addHook('onRequest', fastifyLimit(limiter, { key }))`. */
export function fastifyLimit<Request>(
  limiter: Limiter,
  options: HttpLimitOptions<Request>,
): (request: Request, reply: FastifyReply) => Promise<unknown> {
  const limit = requestLimit(limiter, options);
  return async (request, reply) => {
    const decision = await limit(request);
    for (const [name, value] of Object.entries(decision?.headers ?? {})) reply.header(name, value);
    if (decision?.denial === undefined) return undefined;
    reply.code(decision.denial.status).send(decision.denial.body);
    return reply;
  };
}

interface HonoContext {
  header(name: string, value: string): void;
  json(body: object, status: 400 | 429 | 503): Response;
}

/** For Hono: `app.use(honoLimit(limiter, { key: (context) => … }))`. */
export function honoLimit<Context extends HonoContext>(
  limiter: Limiter,
  options: HttpLimitOptions<Context>,
): (context: Context, next: () => Promise<void>) => Promise<Response | undefined> {
  const limit = requestLimit(limiter, options);
  return async (context, next) => {
    const decision = await limit(context);
    for (const [name, value] of Object.entries(decision?.headers ?? {})) context.header(name, value);
    if (decision?.denial !== undefined) return context.json(decision.denial.body, decision.denial.status);
    await next();
    return undefined;
  };
}
