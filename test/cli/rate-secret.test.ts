// The secret of tickets, changed under a service that runs: the command on its table, and the functions.

import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import { afterAll, expect, test, vi } from 'vitest'
import type { DocumentPort } from '../../aws/dynamo.ts'
import { rateEndpoints } from '../../lambdas/http/rate.ts'
import { httpHandler } from '../../lambdas/http/stack.ts'
import { createLog } from '../../lambdas/runtime/log.ts'
import { createRateLimitsOn } from '../../lambdas/runtime/rate-services.ts'
import { SECRET_SETTLES_MS } from '../../rate/secrets.ts'
import { handlerCall } from '../lambdas/http/handler-call.ts'
import { handlersOn } from '../lambdas/http/service.ts'
import { startStore, usePlace } from './places.ts'

const { place, pushpop: cli } = usePlace(startStore)
afterAll(() => void vi.useRealTimers())

/** Of some lengths, the window that goes on for longest: the test moves the clock, and a turn must not come meanwhile. */
const windowMillis = [24, 23, 22, 20]
  .map((hours) => hours * 3_600_000)
  .reduce((one, other) => (leftOf(one) > leftOf(other) ? one : other))

function leftOf(window: number): number {
  return window - (Date.now() % window)
}

/** The deployed function, a process of its own. */
function service() {
  const documents = DynamoDBDocumentClient.from(place().store.dynamodb) as unknown as DocumentPort
  const limits = createRateLimitsOn({ PUSHPOP_TABLE: 'cli' }, documents)
  const log = createLog({ level: 'error', service: 'x', write: () => {} })
  const handlers = { Rate: httpHandler('Rate', log, rateEndpoints(limits)) }
  const call = handlerCall({ ...handlersOn({} as never, log), ...handlers })
  const query = `canWait=true&maxWaitMs=0&maxRequests=1&windowMillis=${windowMillis}`
  // Two at most go at once: one in a window, and a window may have ended.
  const answers = () => Promise.all([1, 2, 3].map(() => call('POST', '/rate/k', { query })))
  return {
    async ticket(): Promise<string> {
      const promised = (await answers()).find(({ status }) => status === 202)
      return JSON.parse(promised?.text ?? '{}').ticket
    },
    async stateOf(ticket: string): Promise<string | number> {
      const { status, text } = await call('GET', `/rate/k/tickets/${ticket}`)
      return status === 200 ? JSON.parse(text).state : status
    },
  }
}

const pushpop = (...args: string[]) => cli(['rate-secret', ...args])

test('is changed with one command, and tickets stay good until they end', async () => {
  expect(await pushpop('rotate')).toEqual({
    code: 3,
    stdout: '',
    stderr: 'No ticket has been signed here yet; the first makes the secret.\n',
  })
  const old = service()
  const before = await old.ticket()
  expect(await pushpop()).toEqual({ code: 0, stdout: '', stderr: 'One secret signs.\n' })

  const rotated = await pushpop('rotate')
  expect(rotated).toMatchObject({ code: 0, stdout: '' })
  expect(rotated.stderr).toMatch(
    /^A new secret signs from \d{4}-[\dT:.-]+Z on\.\nTickets of 1 secret before it are good/,
  )
  const again = await pushpop('rotate')
  expect(again).toMatchObject({ code: 4, stdout: '' })
  expect(again.stderr).toMatch(/^Cannot rotate because the last change takes effect at /)
  const shown = JSON.parse((await pushpop('show', '--json')).stdout)
  expect(shown).toEqual({ signs_from: expect.any(Number), settled: false, former: 1 })

  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + SECRET_SETTLES_MS })
  const fresh = service()
  const after = await fresh.ticket()
  expect(after.split('.')[1]).not.toBe(before.split('.')[1])
  for (const process of [old, fresh, service()]) {
    for (const ticket of [before, after]) expect(await process.stateOf(ticket)).toBe('waiting')
  }
  expect(await service().stateOf(`${after.slice(0, -4)}AAAA`)).toBe(404)
})
