/** The OpenAPI 3.1 document of a service, made from the routes. */

import type { ServiceRoute } from './route.ts';
import type { Schema } from './schema.ts';

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly paths: Readonly<Record<string, unknown>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export const openApiDocument = (
  info: OpenApiDocument['info'],
  routes: readonly ServiceRoute[],
  schemas: Readonly<Record<string, Schema>>,
): OpenApiDocument => ({
  openapi: '3.1.0',
  info,
  paths: Object.fromEntries(
    routes.map((route) => [route.path, { [route.method.toLowerCase()]: operation(route) }]),
  ),
  components: { schemas },
});

/** The server reads no body, but only a program can send a request with this content type. */
const NO_BODY = {
  required: false,
  content: { 'application/json': { schema: { type: 'object', additionalProperties: false } } },
};

function operation(route: ServiceRoute): unknown {
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

/** `/readyz` answers 503 with the schema of readiness: not being ready is no mistake in the request. */
const problemSchema = ({ path, schema }: ServiceRoute, status: number): unknown =>
  status === 503 && path === '/readyz' ? schema : { $ref: '#/components/schemas/Error' };

const operationId = (path: string): string =>
  path === '/'
    ? 'page'
    : path
        .replace(/[{}]/g, '')
        .split(/[^a-zA-Z0-9]+/)
        .filter((word) => word !== '' && word !== 'v1')
        .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
        .join('');
