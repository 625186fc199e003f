/** For tests only: compares a value with a schema, as far as the schemas of services go, and lists what differs. */

import type { Schema } from './schema.ts';

export function complaints(
  schemas: Readonly<Record<string, Schema>>,
  schema: Schema,
  value: unknown,
  path = '$',
): readonly string[] {
  const check = (inner: Schema, part: unknown, at: string): readonly string[] =>
    complaints(schemas, inner, part, at);
  if (schema.$ref !== undefined) {
    const named = schemas[schema.$ref.replace('#/components/schemas/', '')];
    return named === undefined ? [`${path}: no schema ${schema.$ref}`] : check(named, value, path);
  }
  if (schema.anyOf !== undefined) {
    const all = schema.anyOf.map((each) => check(each, value, path));
    return all.some((found) => found.length === 0) ? [] : all.flat();
  }
  const types = [schema.type ?? []].flat();
  if (types.length > 0 && !types.some((type) => isOf(type, value))) {
    return [`${path}: ${JSON.stringify(value)} is no ${types.join(' or ')}`];
  }
  if (schema.enum !== undefined && !schema.enum.includes(value as string)) {
    return [`${path}: ${JSON.stringify(value)} is not one of ${schema.enum.join(', ')}`];
  }
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined
      ? [`${path}: items of any kind`]
      : value.flatMap((item, index) => check(items, item, `${path}[${index}]`));
  }
  return typeof value === 'object' && value !== null
    ? objectComplaints(schema, value as Readonly<Record<string, unknown>>, path, check)
    : [];
}

function objectComplaints(
  { properties = {}, required = [], additionalProperties }: Schema,
  value: Readonly<Record<string, unknown>>,
  path: string,
  check: (schema: Schema, part: unknown, at: string) => readonly string[],
): readonly string[] {
  const missing = required.filter((name) => !(name in value)).map((name) => `${path}.${name} is missing`);
  const wrong = Object.entries(value).flatMap(([name, part]) => {
    const schema = properties[name];
    if (schema !== undefined) return check(schema, part, `${path}.${name}`);
    return additionalProperties === false ? [`${path}.${name} is in no schema`] : [];
  });
  return [...missing, ...wrong];
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}
