// The two kinds of places that every command works on, on this machine.

import { startLocalStack, startQueues, type TestQueues } from '../../testing/index.ts'

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

export async function startStore(): Promise<Started & { readonly store: TestQueues }> {
  const store = await startQueues({ name: 'cli' })
  const env = store.environment
  // The SDK reads the environment of the process, in a run within it too.
  Object.assign(process.env, env)
  return {
    store,
    options: ['--table', 'cli', '--bucket', 'cli'],
    env,
    stop: () => store.stop(),
  }
}
