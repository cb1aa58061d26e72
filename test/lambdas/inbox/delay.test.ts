import type { SQSClient } from '@aws-sdk/client-sqs'
import { expect, it } from 'vitest'
import { applyFrom } from '../../../lambdas/inbox/sqs.ts'

/** What becomes of a delay that SQS answers with 200 and this. */
async function delayed(answer: object): Promise<unknown> {
  const client = { send: async () => answer } as unknown as SQSClient
  const sqs = async () => ({ ...(await import('@aws-sdk/client-sqs')), client })
  const messages = ['a', 'b', 'c'].map((receiptHandle) => ({ receiptHandle, seconds: 2 }))
  return applyFrom('inbox', 'failures', sqs).delay(messages)
}

it('A delay that SQS carried out in part is an error that names how many messages wait too long, and why.', async () => {
  const Failed = [
    { Id: '1', SenderFault: false, Code: 'InternalError', Message: 'Try again.' },
    { Id: '2', SenderFault: true, Code: 'InvalidParameterValue', Message: 'It has expired.' },
  ]
  await expect(delayed({ Successful: [{ Id: '0' }], Failed })).rejects.toThrow(
    'Cannot delay 2 of 3 messages because SQS answered InternalError, InvalidParameterValue',
  )
})

it('A delay of all messages is no error.', async () => {
  await expect(delayed({ Successful: [{ Id: '0' }], Failed: [] })).resolves.toBeUndefined()
  await expect(delayed({ Successful: [{ Id: '0' }] })).resolves.toBeUndefined()
})
