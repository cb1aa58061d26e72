// The two kinds of places that every command works on, on this machine.

import { startLocalStack } from '../../local/start-local-stack.ts'
import { type Embedded, startEmbedded } from '../../testing/embedded.ts'

export type Started = {
  /** What names the place on a command line. */
  readonly options: readonly string[]
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

export async function startHttp(): Promise<Started> {
  const stack = await startLocalStack({ port: 0 })
  return { options: ['--endpoint', stack.url], env: {}, stop: () => stack.stop() }
}

export async function startStore(): Promise<Started & { readonly store: Embedded }> {
  const store = await startEmbedded()
  await store.createTable('cli')
  await store.createBucket('cli')
  const env = {
    AWS_ENDPOINT_URL_DYNAMODB: store.dynamodbEndpoint,
    AWS_ENDPOINT_URL_S3: store.s3Endpoint,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: 'S3RVER',
  }
  // The SDK reads the environment of the process, in a run within it too.
  Object.assign(process.env, env)
  return {
    store,
    options: ['--table', 'cli', '--bucket', 'cli'],
    env,
    stop: () => store.stop(),
  }
}
