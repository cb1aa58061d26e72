import { describe, expect, test } from 'vitest'
import { answers, breaks, clientOf } from './scripted.ts'

const accepted = answers(202, { success: true, accepted: 2, message_id: 'm-1' })
const pushed = answers(200, { success: true, items_pushed: 1, ids: ['a'] })
const many = [{ item: 1 }, { item: 2 }]

describe('A push that does not wait', () => {
  test('asks for that by its header, and answers the message that it is', async () => {
    const { client, asked } = clientOf([accepted, accepted])
    expect(await client.queue('q').push(1, { respondAsync: true })).toEqual({ messageId: 'm-1' })
    expect(await client.queue('q').pushMany(many, { respondAsync: true })).toEqual({
      itemsPushed: 0,
      ids: [],
      itemsAccepted: 2,
      messageId: 'm-1',
    })
    expect(asked.map(({ headers }) => headers.get('prefer'))).toEqual([
      'respond-async',
      'respond-async',
    ])
  })

  test('answers as any push does if the service has no inbox', async () => {
    const { client } = clientOf([pushed])
    expect(await client.queue('q').push(1, { respondAsync: true })).toEqual({ id: 'a' })
  })

  test('is sent again after a lost answer only with a key', async () => {
    const { client, asked } = clientOf([breaks, accepted])
    const options = { respondAsync: true, idempotencyKey: 'k' }
    expect(await client.queue('q').push(1, options)).toEqual({ messageId: 'm-1' })
    expect(asked.map(({ headers }) => headers.get('idempotency-key'))).toEqual(['k', 'k'])
    const other = clientOf([breaks])
    const push = other.client.queue('q').push(1, { respondAsync: true })
    await expect(push).rejects.toMatchObject({ outcome: 'unknown' })
  })

  test('waits unless it is asked not to', async () => {
    const { client, asked } = clientOf([pushed, pushed])
    await client.queue('q').push(1)
    await client.queue('q').push(1, { respondAsync: false })
    expect(asked.map(({ headers }) => headers.get('prefer'))).toEqual([null, null])
  })
})
