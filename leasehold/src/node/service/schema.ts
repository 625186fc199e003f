/**
 * JSON Schemas, as far as the OpenAPI document needs them. An object names all its fields and admits no other, so that a
 * test that holds real answers against a schema also finds a field that the document lacks.
 */

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

export const text = (description: string): Schema => ({ type: 'string', description });
export const textOrNull = (description: string): Schema => ({ type: ['string', 'null'], description });
export const whole = (description: string): Schema => ({ type: 'integer', description });
export const wholeOrNull = (description: string): Schema => ({ type: ['integer', 'null'], description });
export const number = (description: string): Schema => ({ type: 'number', description });
export const numberOrNull = (description: string): Schema => ({ type: ['number', 'null'], description });
export const boolean = (description: string): Schema => ({ type: 'boolean', description });
export const listOf = (items: Schema, description: string): Schema => ({ type: 'array', items, description });
export const oneOf = (values: readonly string[], description: string): Schema => ({
  type: 'string',
  enum: values,
  description,
});
export const orNull = (schema: Schema): Schema => ({ anyOf: [schema, { type: 'null' }] });

export const object = (properties: Readonly<Record<string, Schema>>, description?: string): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...(description === undefined ? {} : { description }),
});

/** One of the document's named schemas. */
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
