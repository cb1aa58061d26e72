import {
  InternalServerError,
  ProvisionedThroughputExceededException,
  ThrottlingException,
  TransactionConflictException,
} from '@aws-sdk/client-dynamodb'
import { GetObjectCommand, PutObjectCommand, S3ServiceException } from '@aws-sdk/client-s3'
import { PutCommand } from '@aws-sdk/lib-dynamodb'
import { describe, expect, test } from 'vitest'
import {
  connectionReset,
  createSimulatedClient,
  internalServerError,
  type Network,
  provisionedThroughputExceeded,
  requestTimeout,
  s3InternalError,
  slowDown,
  throttling,
  transactionCanceledByConflict,
  transactionConflict,
} from '../../../testing/simulated/network.ts'
import { SimulatedStore } from '../../../testing/simulated/store.ts'

const put = (n: number) =>
  new PutCommand({ TableName: 'simulated', Item: { pk: 'q#a', sk: 'queue', n } })

describe('faults look as the SDK reports them', () => {
  test.each([
    [provisionedThroughputExceeded(), ProvisionedThroughputExceededException, 'client'],
    [throttling(), ThrottlingException, 'client'],
    [transactionConflict(), TransactionConflictException, 'client'],
    [internalServerError(), InternalServerError, 'server'],
    [slowDown(), S3ServiceException, 'server'],
    [s3InternalError(), S3ServiceException, 'server'],
  ] as const)('%s is one of its own classes', (error, type, fault) => {
    expect(error).toBeInstanceOf(type)
    expect(error.$fault).toBe(fault)
    expect(error.$metadata.httpStatusCode).toBeGreaterThanOrEqual(400)
  })

  test('a lost answer has the name the HTTP handler gives it', () => {
    expect(requestTimeout()).toMatchObject({ name: 'TimeoutError' })
    expect(connectionReset()).toMatchObject({ name: 'TimeoutError', code: 'ECONNRESET' })
  })

  test('a transaction names the item that met another write', () => {
    const { CancellationReasons } = transactionCanceledByConflict(3, 1)
    const codes = CancellationReasons?.map((reason) => reason.Code)
    expect(codes).toEqual(['None', 'TransactionConflict', 'None'])
  })
})

function open(deliver: Network['deliver']) {
  const store = new SimulatedStore()
  return { store, ...createSimulatedClient(store, { deliver }) }
}

describe('the network decides', () => {
  test('a request may be applied and its answer lost', async () => {
    const { store, dynamodb } = open(async (_request, apply) => {
      apply()
      throw requestTimeout()
    })
    await expect(dynamodb.send(put(1))).rejects.toThrow('timed out')
    expect(store.item('q#a', 'queue')).toMatchObject({ n: 1 })
  })

  test('a request may be refused without being applied', async () => {
    const { store, dynamodb } = open(async () => {
      throw throttling()
    })
    await expect(dynamodb.send(put(1))).rejects.toBeInstanceOf(ThrottlingException)
    expect(store.item('q#a', 'queue')).toBeUndefined()
  })

  test('a request may be applied long after its answer was lost', async () => {
    const late: (() => unknown)[] = []
    const { store, dynamodb } = open(async (_request, apply) => {
      late.push(apply)
      throw connectionReset()
    })
    await expect(dynamodb.send(put(1))).rejects.toThrow('ECONNRESET')
    await createSimulatedClient(store).dynamodb.send(put(2))
    for (const apply of late) apply()
    expect(store.item('q#a', 'queue')).toMatchObject({ n: 1 })
  })

  test('the network sees which service and which command it carries', async () => {
    const seen: string[] = []
    const { dynamodb, s3 } = open(async ({ service, name }, apply) => {
      seen.push(`${service} ${name}`)
      return apply()
    })
    await dynamodb.send(put(1))
    await s3.send(new PutObjectCommand({ Bucket: 'simulated', Key: 'a', Body: 'x' }))
    const { Body } = await s3.send(new GetObjectCommand({ Bucket: 'simulated', Key: 'a' }))
    expect(await Body?.transformToString()).toBe('x')
    expect(seen).toEqual(['dynamodb PutCommand', 's3 PutObjectCommand', 's3 GetObjectCommand'])
  })
})
