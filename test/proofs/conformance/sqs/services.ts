// The services that have to agree: the SQS of the local stack, and others for `npm run conformance`.

import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SQSClient } from '@aws-sdk/client-sqs'
import { startSqs } from '../../../../local/sqs/start-sqs.ts'
import { credentialsOf } from '../../../../local/stores/store-api.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

export type ServiceName = 'local' | 'elsewhere' | 'aws'

export type Service = {
  readonly client: SQSClient
  /** How long a receive waits that need not find anything. Only AWS has messages that are on their way. */
  readonly waitSeconds: number
  /** Lets time pass. */
  pass(seconds: number): Promise<void>
  close(): void
}

const other = process.env.PUSHPOP_CONFORMANCE_SQS as 'elsewhere' | 'aws' | undefined

export const serviceNames: readonly ServiceName[] = [other ?? 'local']

export async function openService(name: ServiceName): Promise<Service> {
  switch (name) {
    case 'local':
      return openLocal()
    case 'elsewhere':
      return openElsewhere()
    case 'aws':
      return openAws()
    default:
      return name satisfies never
  }
}

async function openLocal(): Promise<Service> {
  let nowMs = Date.now()
  const sqs = await startSqs({
    file: join(temporaryFolder('sqs'), 'sqs.sqlite'),
    onBroken: (error) => {
      throw error
    },
    clock: { nowMs: () => nowMs, random: Math.random },
  })
  const client = new SQSClient({
    region: 'us-east-1',
    endpoint: sqs.endpoint,
    credentials: credentialsOf({}),
  })
  return {
    client,
    waitSeconds: 0,
    async pass(seconds) {
      nowMs += seconds * 1000
    },
    close() {
      client.destroy()
      sqs.stop()
    },
  }
}

function openAws(): Service {
  const client = new SQSClient({})
  return {
    client,
    waitSeconds: 3,
    // A little more: its clock is not ours.
    pass: (seconds) => delay(seconds * 1000 + 500),
    close: () => client.destroy(),
  }
}

function openElsewhere(): Service {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, PUSHPOP_SQS_ENDPOINT = '' } = process.env
  const hasKey = AWS_ACCESS_KEY_ID && AWS_SECRET_ACCESS_KEY
  const client = new SQSClient({
    region: 'us-east-1',
    endpoint: PUSHPOP_SQS_ENDPOINT,
    credentials: hasKey
      ? { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY }
      : credentialsOf({}),
    maxAttempts: 1,
  })
  // SQS gives each error a second, older name in a header. One without that header is compared by what its errors mean.
  const byOlderCode = (error: Error & { Error?: { Code?: string } }) => {
    const code = (error.Error?.Code ?? error.name).split('#').at(-1) ?? ''
    throw Object.assign(error, { Error: { ...error.Error, Code: olderCodes[code] ?? code } })
  }
  client.middlewareStack.add((next) => (args) => next(args).catch(byOlderCode), {
    step: 'initialize',
  })
  return {
    client,
    waitSeconds: 0,
    pass: (seconds) => delay(seconds * 1000 + 100),
    close: () => client.destroy(),
  }
}

const prefix = 'AWS.SimpleQueueService.'
const olderCodes: Readonly<Record<string, string>> = {
  QueueDoesNotExist: `${prefix}NonExistentQueue`,
  QueueNameExists: 'QueueAlreadyExists',
  MissingRequiredParameterException: 'MissingParameter',
  InvalidParameterValueException: 'InvalidParameterValue',
  ...Object.fromEntries(
    [
      'BatchEntryIdsNotDistinct',
      'BatchRequestTooLong',
      'EmptyBatchRequest',
      'InvalidBatchEntryId',
      'MessageNotInflight',
      'PurgeQueueInProgress',
      'TooManyEntriesInBatchRequest',
    ].map((code) => [code, `${prefix}${code}`]),
  ),
}
