/** The OpenAPI 3.1 document, made from the routes themselves. */

import type { ApiRoute } from './exchange.ts';
import { SCHEMAS } from './schemas.ts';

interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: Readonly<Record<string, string>>;
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components: { readonly schemas: typeof SCHEMAS };
}

export const openApiDocument = (routes: readonly ApiRoute[], version: string): OpenApiDocument => ({
  openapi: '3.1.0',
  info: {
    title: 'Leasehold Manager',
    version,
    description:
      'What a Manager knows about its pools, owners, look-ups and keys. Everything is read-only, but for one POST. Places on the ring are 16 hexadecimal digits; other positions, numbers and names that end in At count commits of the log; Ms are milliseconds.',
  },
  paths: Object.fromEntries(
    routes.map((route) => [route.path, { [route.method.toLowerCase()]: operation(route) }]),
  ),
  components: { schemas: SCHEMAS },
});

/** Nothing is read of it, but only a program can send it. */
const NO_BODY = {
  required: false,
  content: { 'application/json': { schema: { type: 'object', additionalProperties: false } } },
};

function operation(route: ApiRoute): unknown {
  const { path, method, summary, parameters, contentType, schema, problems } = route;
  const content = { [contentType]: { schema: schema ?? { type: 'string' } } };
  const failed = Object.entries(problems).map(([status, description]) => [
    status,
    { description, content: { 'application/json': { schema: problemSchema(route, Number(status)) } } },
  ]);
  return {
    operationId: operationId(path),
    summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(method === 'POST' ? { requestBody: NO_BODY } : {}),
    responses: { 200: { description: summary, content }, ...Object.fromEntries(failed) },
  };
}

/** Not being ready is an answer of its own, not a mistake in the request. */
const problemSchema = ({ schema }: ApiRoute, status: number): unknown =>
  status === 503 ? schema : { $ref: '#/components/schemas/Error' };

const operationId = (path: string): string =>
  path === '/'
    ? 'page'
    : path
        .replace(/[{}]/g, '')
        .split(/[^a-zA-Z0-9]+/)
        .filter((word) => word !== '' && word !== 'v1')
        .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
        .join('');
