import type { Call } from '../../../client/transport.ts'
import type { Check } from '../check.ts'
import { type Refusal, refused, same } from '../claims.ts'
import type { Stage } from '../stage.ts'

type Request = Pick<Call, 'method' | 'path'> & Partial<Call>

/** Each is wrong in one way. A path of one word is that action of an empty queue. */
const wrong: Readonly<Record<string, readonly [Request, Refusal]>> = {
  'A priority below 0': [
    push('{"item": 1, "priority": -1}'),
    { code: 'INVALID_PRIORITY', status: 400, field: 'priority' },
  ],
  'A bad priority of one item among many': [
    push('{"items": [{"item": 1}, {"item": 2, "priority": 1.5}]}'),
    { code: 'INVALID_PRIORITY', status: 400, field: 'items[1].priority' },
  ],
  'A push without an item': [
    push('{"priority": 1}'),
    { code: 'INVALID_ITEM', status: 400, field: 'item' },
  ],
  'A field that no push has': [
    push('{"item": 1, "prioritty": 1}'),
    { code: 'UNKNOWN_FIELD', status: 400, field: 'prioritty' },
  ],
  'A body that is not JSON': [push('{"item": 1'), { code: 'INVALID_JSON', status: 400 }],
  'A body that says that it is not JSON': [
    { ...push('{"item": 1}'), headers: { 'content-type': 'text/plain' } },
    { code: 'UNSUPPORTED_MEDIA_TYPE', status: 415 },
  ],
  'A queue id with a space': [
    { method: 'POST', path: '/queue/a%20b/push', body: '{"item": 1}' },
    { code: 'INVALID_QUEUE_ID', status: 400, field: 'id' },
  ],
  'A count of 0': [
    { method: 'POST', path: '/pop', query: { count: 0 } },
    { code: 'INVALID_COUNT', status: 400, field: 'count' },
  ],
  'A count of 101': [
    { method: 'POST', path: '/pop', query: { count: 101 } },
    { code: 'INVALID_COUNT', status: 400, field: 'count' },
  ],
  'A lock of half a second': [
    { method: 'POST', path: '/pop', query: { require_ack: true, ttl_seconds: 0.5 } },
    { code: 'INVALID_TTL', status: 400, field: 'ttl_seconds' },
  ],
  'A parameter that no pop has': [
    { method: 'POST', path: '/pop', query: { cuont: 1 } },
    { code: 'UNKNOWN_FIELD', status: 400, field: 'cuont' },
  ],
  'A cursor that no page gave': [
    { method: 'GET', path: '/items', query: { cursor: 'x' } },
    { code: 'INVALID_PARAMETER', status: 400, field: 'cursor' },
  ],
  'A segment size of 0': [
    { method: 'PUT', path: '/config', body: '{"segment_size": 0}' },
    { code: 'INVALID_PARAMETER', status: 400, field: 'segment_size' },
  ],
  'An address that is none': [
    { method: 'GET', path: '/nothing/here' },
    { code: 'NOT_FOUND', status: 404 },
  ],
  'A method that the address does not take': [
    { method: 'DELETE', path: '/push' },
    { code: 'METHOD_NOT_ALLOWED', status: 405 },
  ],
}

export const input: Check = {
  name: 'input',
  promise: 'Bad input is refused with a code and the field’s name, and stores nothing',
  steps: Object.fromEntries(
    Object.entries(wrong).map(([name, [request, refusal]]) => [
      name,
      (stage: Stage) => isRefused(stage, request, refusal),
    ]),
  ),
}

function push(body: string): Request {
  return { method: 'POST', path: '/push', body }
}

async function isRefused(stage: Stage, request: Request, refusal: Refusal): Promise<void> {
  const it = stage.queue()
  const isBelow = /^\/[a-z]+$/.test(request.path)
  const path = isBelow ? `/queue/${it.id}${request.path}` : request.path
  // `verb` decides about retries, and there are none here.
  const error = await refused(stage.send({ verb: 'push', ...request, path }), refusal)
  // Without our route, the gateway would answer an unknown address in its own words.
  if (refusal.status === 404) same('the words', error.message.slice(0, NOWHERE.length), NOWHERE)
  same('the count', (await it.inspect({ consistent: true })).count, 0)
}

const NOWHERE = 'There is nothing at this address'
