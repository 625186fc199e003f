import { describe, expect, it } from 'vitest';
import { errorIn, verdictOn, verdictOnStranger } from './refusals.ts';

const NO_LEADER = 'etcdserver: no leader';

describe('an error of the gateway', () => {
  it.each([
    ['3.4 and 3.5', { error: NO_LEADER, message: NO_LEADER, code: 14 }],
    ['3.6', { code: 14, message: NO_LEADER, details: [] }],
    ['3.4 and 3.5, in a stream', { error: { grpc_code: 14, http_code: 503, message: NO_LEADER } }],
    ['3.6, in a stream', { error: { code: 14, message: NO_LEADER, details: [] } }],
  ])('is found in an answer of %s', (_, answer) => {
    expect(errorIn(answer)).toEqual({ code: 14, message: NO_LEADER });
  });

  it('may be without a code', () => {
    expect(errorIn({ error: 'x' })).toEqual({ code: undefined, message: 'x' });
    expect(errorIn({ message: 'x', code: 'many' })).toEqual({ code: undefined, message: 'x' });
  });

  it('is not found where there is none', () => {
    expect(errorIn({ header: {} })).toBeUndefined();
    expect(errorIn({ error: {} })).toBeUndefined();
    expect(errorIn({ error: null, message: 3 })).toBeUndefined();
  });
});

describe('a refusal of etcd', () => {
  it.each([
    ['etcdserver: mvcc: database space exceeded', 8, 'settled', 'no-space'],
    ['etcdserver: request is too large', 3, 'refused', 'too-large'],
    ['etcdserver: too many operations in txn request', 3, 'refused', 'too-large'],
    ['etcdserver: mvcc: required revision has been compacted', 11, 'refused', 'compacted'],
    ['etcdserver: mvcc: required revision is a future revision', 11, 'refused', 'other'],
    ['etcdserver: requested lease not found', 5, 'refused', 'no-lease'],
    ['etcdserver: permission denied', 7, 'refused', 'denied'],
    ['etcdserver: authentication failed, invalid user ID or password', 3, 'refused', 'denied'],
    ['etcdserver: duplicate key given in txn request', 3, 'refused', 'other'],
    ['something that only a later version says', 9, 'refused', 'other'],
    ['something that only a later version says', 7, 'refused', 'denied'],
    [NO_LEADER, 14, 'elsewhere', 'unavailable'],
    ['etcdserver: too many requests', 8, 'elsewhere', 'unavailable'],
    ['etcdserver: rpc not supported for learner', 9, 'elsewhere', 'unavailable'],
  ] as const)('%s (%i): %s, %s', (message, code, kind, reason) => {
    expect(verdictOn({ code, message }, 100)).toEqual({ kind, reason, message });
  });

  it('is the same sentence in a text of its own', () => {
    const message = 'rpc error: code = PermissionDenied desc = etcdserver: permission denied';
    expect(verdictOn({ code: undefined, message }, 100)).toEqual({
      ...{ kind: 'refused', reason: 'denied', message: 'etcdserver: permission denied' },
    });
  });

  it.each([
    ['etcdserver: invalid auth token', 16],
    ['etcdserver: revision of auth store is old', 3],
    ['etcdserver: user name is empty', 3],
    ['something that only a later version says', 16],
  ])('%s (%i): another token is needed', (message, code) => {
    expect(verdictOn({ code, message }, 100).kind).toBe('token');
  });

  it.each([
    ['etcdserver: request timed out', 14],
    ['etcdserver: request timed out, possibly due to previous leader failure', 14],
    ['etcdserver: leader changed', 14],
    ['etcdserver: server stopped', 14],
    ['transport is closing', 14],
    ['context canceled', 1],
    ['raft proposal dropped', 2],
    ['something that only a later version says', 8],
    ['something that only a later version says', 13],
    ['something without a code', undefined],
  ])('%s (%s): it may have been carried out', (message, code) => {
    expect(verdictOn({ code, message }, 100)).toEqual({ kind: 'unclear', message });
  });

  it('may be about the size of the request, or about that of an answer, which comes after the deed', () => {
    const message = 'grpc: received message larger than max (2200008 vs. 2097152)';
    expect(verdictOn({ code: 8, message }, 3_000_000)).toMatchObject({
      kind: 'refused',
      reason: 'too-large',
    });
    expect(verdictOn({ code: 8, message }, 1_000)).toMatchObject({ kind: 'unclear' });
  });
});

describe('an answer that no etcd gave', () => {
  it.each([
    [404, '404 page not found', 'elsewhere'],
    [400, 'Client sent an HTTP request to an HTTPS server.', 'elsewhere'],
    [302, '', 'elsewhere'],
    [413, 'Request Entity Too Large', 'refused'],
    [401, '', 'refused'],
    [502, '<html>Bad Gateway</html>', 'unclear'],
    [504, '', 'unclear'],
    [200, '', 'unclear'],
    [400, 'Bad Request', 'unclear'],
  ])('%i %s: %s', (status, body, kind) => {
    expect(verdictOnStranger(status, body).kind).toBe(kind);
  });

  it('is quoted, but not at length', () => {
    const { message } = verdictOnStranger(502, `<html>\n${'x'.repeat(10_000)}`);
    expect(message).toMatch(/^HTTP 502: <html> x+$/);
    expect(message.length).toBeLessThan(300);
  });

  it('says what to do where that is known', () => {
    expect(verdictOnStranger(404, '').message).toMatch(/is this etcd, 3\.4 or newer/);
    expect(verdictOnStranger(400, 'Client sent an HTTP request to an HTTPS server.').message).toMatch(
      /write etcds:\/\//,
    );
  });
});
