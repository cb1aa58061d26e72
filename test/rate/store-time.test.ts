// Who changes the secret sits at a laptop, whose clock may be wrong: the change takes the store's time.

import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { HttpResponse } from '@smithy/core/protocols'
import { describe, expect, it } from 'vitest'
import { createLeanDynamodb } from '../../aws/lean-client.ts'
import { secretKey } from '../../rate/core/row.ts'
import { createTicketSecrets, SECRET_SETTLES_MS } from '../../rate/secrets.ts'
import { ManualClock } from '../engine/manual-clock.ts'

const MINUTE = 60_000

type Client = 'SDK' | 'lean'
const clients = ['SDK', 'lean'] as const

/** A whole second, as a Date header has it. */
const storeMs = Date.UTC(2030, 0, 1, 12)

/** A table that holds the secret alone, and says the time with each answer. */
function aStore(answerDate: () => string | undefined, client: Client) {
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
  const options = {
    region: 'us-east-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    requestHandler: requestHandler as never,
  }
  return client === 'SDK' ? new DynamoDBClient(options) : createLeanDynamodb(options)
}

function aLaptop(client: Client, offMs: number, dated = true) {
  const time = new ManualClock()
  time.now = storeMs
  const clock = time.skewed(offMs)
  const dynamodb = aStore(() => (dated ? new Date(time.nowMs()).toUTCString() : undefined), client)
  return { time, clock, secrets: createTicketSecrets({ tableName: 'table', dynamodb, clock }) }
}

const cases = clients.flatMap((client) =>
  [-15, -10, 0, 10, 15].map((minutes) => [minutes, client] as const),
)

describe.each(cases)('By a clock that is %i minutes off (%s client)', (minutes, client) => {
  it('a new secret signs when every process has read it.', async () => {
    const { secrets } = aLaptop(client, minutes * MINUTE)
    expect(await secrets.rotate()).toMatchObject({
      kind: 'changed',
      secrets: { signsFromMs: storeMs + SECRET_SETTLES_MS },
    })
    expect(secrets.nowMs()).toBe(storeMs)
  })

  it('nothing is changed before the last change has settled, and then it is.', async () => {
    const { time, secrets } = aLaptop(client, minutes * MINUTE)
    await secrets.rotate()
    time.pass(SECRET_SETTLES_MS - 1_000)
    const settling = { kind: 'settling', untilMs: storeMs + SECRET_SETTLES_MS }
    expect(await secrets.forgetFormer()).toEqual(settling)
    expect(await secrets.rotate()).toEqual(settling)
    time.pass(1_000)
    expect((await secrets.forgetFormer()).kind).toBe('changed')
  })
})

it.each(clients)(
  'A store that does not say the time leaves it to the own clock (%s client).',
  async (client) => {
    const { clock, secrets } = aLaptop(client, MINUTE, false)
    expect(await secrets.rotate()).toMatchObject({
      secrets: { signsFromMs: clock.nowMs() + SECRET_SETTLES_MS },
    })
  },
)
