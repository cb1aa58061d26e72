// Who changes the secret sits at a laptop, whose clock may be wrong: the change takes the store's time.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { HttpResponse } from '@smithy/core/protocols'
import { describe, expect, it } from 'vitest'
import { SECRET_SETTLES_MS } from '../../../lambdas/rate/core/bounds.ts'
import { secretKey } from '../../../lambdas/rate/core/keys.ts'
import { createTicketSecrets } from '../../../lambdas/rate/ticket-secrets.ts'
import { ManualClock } from '../../engine/manual-clock.ts'

const MINUTE = 60_000
/** A whole second, as a Date header has it. */
const storeMs = Date.UTC(2030, 0, 1, 12)

/** A table that holds the secret alone, and says the time with each answer. */
function aStore(answerDate: () => string | undefined) {
  const key = { pk: { S: secretKey.pk }, sk: { S: secretKey.sk } }
  let item: object = { ...key, s: { B: Buffer.alloc(32, 1).toString('base64') } }
  const requestHandler = {
    async handle({ headers, body }: { headers: Record<string, string>; body: Uint8Array }) {
      const isRead = headers['x-amz-target']?.endsWith('GetItem')
      if (!isRead) item = JSON.parse(Buffer.from(body).toString()).Item
      const date = answerDate()
      const response = new HttpResponse({
        statusCode: 200,
        headers: { 'content-type': 'application/x-amz-json-1.0', ...(date && { date }) },
        body: Buffer.from(JSON.stringify(isRead ? { Item: item } : {})),
      })
      return { response }
    },
  }
  return new DynamoDBClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    requestHandler: requestHandler as never,
  })
}

function aLaptop(offMs: number, dated = true) {
  const time = new ManualClock()
  time.now = storeMs
  const clock = time.skewed(offMs)
  const dynamodb = aStore(() => (dated ? new Date(time.nowMs()).toUTCString() : undefined))
  return { time, clock, secrets: createTicketSecrets({ tableName: 'table', dynamodb, clock }) }
}

describe.each([-15, -10, 0, 10, 15])('By a clock that is %i minutes off', (minutes) => {
  it('a new secret signs when every process has read it.', async () => {
    const { secrets } = aLaptop(minutes * MINUTE)
    expect(await secrets.rotate()).toMatchObject({
      kind: 'changed',
      secrets: { signsFromMs: storeMs + SECRET_SETTLES_MS },
    })
    expect(secrets.nowMs()).toBe(storeMs)
  })

  it('nothing is changed before the last change has settled, and then it is.', async () => {
    const { time, secrets } = aLaptop(minutes * MINUTE)
    await secrets.rotate()
    time.pass(SECRET_SETTLES_MS - 1_000)
    const settling = { kind: 'settling', untilMs: storeMs + SECRET_SETTLES_MS }
    expect(await secrets.forgetFormer()).toEqual(settling)
    expect(await secrets.rotate()).toEqual(settling)
    time.pass(1_000)
    expect((await secrets.forgetFormer()).kind).toBe('changed')
  })
})

it('A store that does not say the time leaves it to the own clock.', async () => {
  const { clock, secrets } = aLaptop(MINUTE, false)
  expect(await secrets.rotate()).toMatchObject({
    secrets: { signsFromMs: clock.nowMs() + SECRET_SETTLES_MS },
  })
})
