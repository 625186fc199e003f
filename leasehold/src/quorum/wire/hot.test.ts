import { describe, expect, it } from 'vitest';
import {
  type Action,
  type Command,
  compareAndSet,
  type Condition,
  get,
  put,
  remove,
  type Request,
} from '../core/operation.ts';
import type { Found } from '../core/result.ts';
import { type Form, integer, list, optional, record, union, whole } from './form.ts';
import { action, command, condition, found, key, life, request, storage, value } from './hot.ts';
import { decode, encode } from './messages.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const declaredAction: Form<Action> = union<'do', Action>('do', {
  get: { key },
  put: { key, value },
  delete: { key },
});

const declaredCommand: Form<Command> = union<'kind', Command>('kind', {
  transaction: { conditions: list<Condition>(condition), actions: list(declaredAction) },
  'open-session': {},
  'expire-session': { session: whole },
});

const declaredRequest: Form<Request> = record<Request>({
  ...{ session: whole, number: whole, answeredBelow: whole, command: declaredCommand },
  ...{ origin: storage, life, id: integer },
});

const declaredFound: Form<Found> = record<Found>({ key, value: optional(value), revision: whole });

const COMMANDS: readonly Command[] = [
  put('k', bytes('v')),
  remove('é'),
  get('😀'),
  compareAndSet({ key: 'k', is: 'revision', revision: 2 ** 40 }, bytes('')),
  { kind: 'open-session' },
  { kind: 'expire-session', session: 40_960 },
];
const REQUESTS: readonly Request[] = COMMANDS.map((each, place) => ({
  ...{ session: 4_096 * place, number: place, answeredBelow: 0, command: each, origin: 'a~1f', life: 7 },
  id: 3 - place,
}));
const FOUND: readonly Found[] = [
  { key: 'k', value: bytes('v'), revision: 8_192 },
  { key: 'empty', value: bytes(''), revision: 1 },
  { key: 'gone', value: undefined, revision: 0 },
];

/** Whether both forms write the same bytes, and each reads those of the other. */
function expectSame<T>(byHand: Form<T>, declared: Form<T>, values: readonly T[]): void {
  for (const each of values) {
    const written = encode(byHand, each);
    expect([...written]).toEqual([...encode(declared, each)]);
    expect(decode(declared, written)).toStrictEqual(each);
    expect(decode(byHand, written)).toStrictEqual(each);
  }
}

describe('a form that is written by hand for speed', () => {
  it('has the bytes of the declared form: actions, commands, requests, values that were found', () => {
    const actions = COMMANDS.flatMap((each) => (each.kind === 'transaction' ? each.actions : []));
    expectSame(action, declaredAction, actions);
    expectSame(command, declaredCommand, COMMANDS);
    expectSame(request, declaredRequest, REQUESTS);
    expectSame(found, declaredFound, FOUND);
  });

  it('refuses at the same place what the declared form refuses', () => {
    for (const byte of [3, 200]) {
      for (const [byHand, declared] of [
        [action, declaredAction],
        [command, declaredCommand],
      ] as const) {
        const read = (form: Form<unknown>) => () => decode(form, Uint8Array.of(byte));
        expect(read(byHand as Form<unknown>)).toThrow(`is of kind ${byte}`);
        expect(read(declared as Form<unknown>)).toThrow(`is of kind ${byte}`);
      }
    }
  });
});
