/**
 * The forms that travel by the thousand, written out: values that were found, requests, the call of a read or a write, and the
 * answers to those. Each is declared first: its bytes are those of the declared form, which a test compares, and so are the paths of its flaws.
 */

import { Flaw } from '../../runtime/msgpack/flaw.ts';
import type { Action, Command, Condition, Request } from '../core/operation.ts';
import type { Found } from '../core/result.ts';
import { KEY_BYTES_MAX, LIFE_MAX, STORAGE_BYTES_MAX, VALUE_BYTES_MAX } from './bounds.ts';
import {
  byHand,
  bytes,
  field,
  flag,
  type Form,
  integer,
  list,
  optional,
  record,
  text,
  union,
  whole,
  wholeUpTo,
} from '../../runtime/wire/form.ts';

export const key: Form<string> = text(KEY_BYTES_MAX);
export const value: Form<Uint8Array> = bytes(VALUE_BYTES_MAX);
export const storage: Form<string> = text(STORAGE_BYTES_MAX);
export const life: Form<number> = wholeUpTo(LIFE_MAX);

const unknownKind = (place: number): Flaw => new Flaw(`is of kind ${place}, which does not exist`);

export const condition: Form<Condition> = union('is', {
  absent: { key },
  revision: { key, revision: whole },
  value: { key, value },
});

const declaredAction = union<'do', Action>('do', { get: { key }, put: { key, value }, delete: { key } });

export const action: Form<Action> = byHand(declaredAction, {
  write: (writer, given) => {
    writer.uint8(given.do === 'put' ? 1 : given.do === 'get' ? 0 : 2);
    key.write(writer, given.key);
    if (given.do === 'put') value.write(writer, given.value);
  },
  read: (reader) => {
    const place = reader.uint8();
    if (place > 2) throw unknownKind(place);
    const name = field('key', key, reader);
    if (place === 1) return { do: 'put', key: name, value: field('value', value, reader) };
    return place === 0 ? { do: 'get', key: name } : { do: 'delete', key: name };
  },
});

const conditions: Form<readonly Condition[]> = list(condition);
const actions: Form<readonly Action[]> = list(action);

const declaredCommand = union<'kind', Command>('kind', {
  transaction: { conditions, actions },
  'open-session': {},
  'expire-session': { session: whole },
});

export const command: Form<Command> = byHand(declaredCommand, {
  write: (writer, given) => {
    writer.uint8(given.kind === 'transaction' ? 0 : given.kind === 'open-session' ? 1 : 2);
    if (given.kind === 'transaction') {
      conditions.write(writer, given.conditions);
      actions.write(writer, given.actions);
    } else if (given.kind === 'expire-session') writer.varint(given.session);
  },
  read: (reader) => {
    const place = reader.uint8();
    if (place === 0) {
      return {
        kind: 'transaction',
        conditions: field('conditions', conditions, reader),
        actions: field('actions', actions, reader),
      };
    }
    if (place === 1) return { kind: 'open-session' };
    if (place !== 2) throw unknownKind(place);
    return { kind: 'expire-session', session: field('session', whole, reader) };
  },
});

const declaredRequest = record<Request>({
  ...{ session: whole, number: whole, answeredBelow: whole, command },
  ...{ origin: storage, life, id: integer },
});

export const request: Form<Request> = byHand(declaredRequest, {
  write: (writer, given) => {
    writer.varint(given.session);
    writer.varint(given.number);
    writer.varint(given.answeredBelow);
    command.write(writer, given.command);
    storage.write(writer, given.origin);
    writer.varint(given.life);
    integer.write(writer, given.id);
  },
  read: (reader) => ({
    session: field('session', whole, reader),
    number: field('number', whole, reader),
    answeredBelow: field('answeredBelow', whole, reader),
    command: field('command', command, reader),
    origin: field('origin', storage, reader),
    life: field('life', life, reader),
    id: field('id', integer, reader),
  }),
});

const declaredFound = record<Found>({ key, value: optional(value), revision: whole });

export const found: Form<Found> = byHand(declaredFound, {
  write: (writer, given) => {
    key.write(writer, given.key);
    writer.uint8(given.value === undefined ? 0 : 1);
    if (given.value !== undefined) value.write(writer, given.value);
    writer.varint(given.revision);
  },
  read: (reader) => {
    const name = field('key', key, reader);
    const isThere = field('value', flag, reader);
    return {
      key: name,
      value: isThere ? field('value', value, reader) : undefined,
      revision: field('revision', whole, reader),
    };
  },
});
