// A call that the service asks to come again later.

import { expect, test } from 'vitest'
import { run } from './a-run.ts'
import { useServer } from './places.ts'

const refusal = {
  success: false,
  error_code: 'RATE_LIMITED',
  message: 'queue "q" has a pop_limit of 1 in 60000 ms; try again in 1000 ms',
  retryable: true,
  request_id: 'r',
  retry_after_ms: 1_000,
}

const details = '{"id":"a-0-0","priority":0,"pushed_at":1,"deliveries":1}'
const popped = `{"items":[7],"count":1,"details":[${details}]}`

const refused = new Set<string>()
const endpoint = useServer(({ url = '' }, response) => {
  response.setHeader('content-type', 'application/json')
  response.statusCode = refused.has(url) ? 200 : 429
  response.end(refused.has(url) ? popped : JSON.stringify(refusal))
  refused.add(url)
})

test('says what it waits for, to a person only, and then goes', async () => {
  const [told, silent] = await Promise.all([
    run(`pop person --endpoint ${endpoint()}`),
    run(`pop script --json --endpoint ${endpoint()}`),
  ])
  expect(told.code).toBe(0)
  expect(told.stderr).toContain(`Waiting 2 s: ${refusal.message}\n`)
  expect([silent.code, silent.stderr]).toEqual([0, ''])
})
