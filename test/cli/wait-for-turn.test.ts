// Ctrl-C while a turn is waited for; the rest of it is in rate.test.ts.

import { expect, test } from 'vitest'
import { waitForTurn } from '../../cli/target/http-rates.ts'

const promised = {
  allowed: false,
  request_id: 'r',
  ticket: 'a.b',
  not_before: 12,
  position: 1,
  retry_after_ms: 9_000,
} as const

test.each([
  {
    name: 'goes to another',
    giveUp: async () => ({ given_up: true }),
    says: 'is free for another',
  },
  {
    name: 'stays empty where others wait behind it',
    giveUp: async () => ({ given_up: false, reason: 'others_wait_behind' }),
    says: 'stays empty',
  },
  {
    name: 'stays empty where the service cannot be told',
    giveUp: () => Promise.reject(new Error('nobody there')),
    says: 'stays empty',
  },
])('With Ctrl-C a place in line $name.', async ({ giveUp, says }) => {
  const ending = new AbortController()
  const given: string[] = []
  const answered = (body: object) => ({ kind: 'answer', body, text: '', etag: undefined }) as never
  const requests: Parameters<typeof waitForTurn>[0] = {
    async decide() {
      // By then it sleeps.
      setImmediate(() => ending.abort())
      return answered(promised)
    },
    verify: () => Promise.reject(new Error('it was not its turn yet')),
    async giveUp(ticket) {
      given.push(ticket)
      return answered(await giveUp())
    },
  }
  await expect(waitForTurn(requests, { canWait: true }, ending.signal)).rejects.toMatchObject({
    exitCode: 130,
    message: `Stopped; its place in line ${says}.`,
  })
  expect(given).toEqual(['a.b'])
})
