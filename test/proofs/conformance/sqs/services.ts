// The services that have to agree: the SQS of the local stack, and AWS's for whoever has an account.

import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { SQSClient } from '@aws-sdk/client-sqs'
import { startSqs } from '../../../../local/sqs/start-sqs.ts'
import { credentialsOf } from '../../../../local/stores/store-environment.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

export type ServiceName = 'local' | 'aws'

export type Service = {
  readonly client: SQSClient
  /** How long a receive waits that need not find anything. Only AWS has messages that are on their way. */
  readonly waitSeconds: number
  /** Lets time pass. */
  pass(seconds: number): Promise<void>
  close(): void
}

export const serviceNames: readonly ServiceName[] =
  process.env.PUSHPOP_CONFORMANCE_AWS === '1' ? ['local', 'aws'] : ['local']

export const openService = (name: ServiceName): Promise<Service> =>
  name === 'local' ? openLocal() : Promise.resolve(openAws())

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
