import type { SQSClient } from '@aws-sdk/client-sqs'
import { expect, it } from 'vitest'
import { applyFrom } from '../../../lambdas/inbox/sqs.ts'
import { Queues } from '../../../local/sqs/core/queues.ts'

/** What keeps a message on a queue of the local SQS, which counts bytes as SQS does. */
async function kept(body: string, idempotencyKey?: string) {
  const queues = new Queues({ nowMs: () => 1, random: Math.random })
  queues.create('failures.fifo', { FifoQueue: 'true' })
  const client = {
    async send({ input }: { input: Record<string, never> }) {
      queues.send('failures.fifo', {
        body: input.MessageBody ?? '',
        attributes: input.MessageAttributes ?? {},
        groupId: input.MessageGroupId,
        deduplicationId: input.MessageDeduplicationId,
      })
    },
  } as unknown as SQSClient
  const sqs = async () => ({ ...(await import('@aws-sdk/client-sqs')), client })
  const port = applyFrom('inbox', 'failures', sqs)
  const message = { queue: 'no!', body, deduplicationId: 'm', idempotencyKey }
  await port.giveUp(message, 'The group of this message is not the id of a queue')
  return queues.receive('failures.fifo', { max: 1 })[0]?.message
}

it('A message that is given up is kept with its reason and its key.', async () => {
  const message = await kept('{}', 'k')
  expect(message?.body).toBe('{}')
  expect(message?.attributes).toMatchObject({
    reason: { StringValue: expect.stringContaining('not the id of a queue') },
    'idempotency-key': { StringValue: 'k' },
  })
})

it('A message of the largest size that SQS accepts is kept without the reason, for which it has no room.', async () => {
  const bytes = 1_048_576
  expect((await kept('x'.repeat(bytes)))?.body).toHaveLength(bytes)
  const besideReason =
    bytes - 'reasonString'.length - 'The group of this message is not the id of a queue'.length
  expect((await kept('x'.repeat(besideReason)))?.attributes).toHaveProperty('reason')
  expect((await kept('x'.repeat(besideReason + 1)))?.attributes).not.toHaveProperty('reason')
})
