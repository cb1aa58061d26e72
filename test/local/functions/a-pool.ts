// Pools of functions given as text, for one test file.

import { afterEach } from 'vitest'
import type { PoolSettings } from '../../../local/functions/function-pool.ts'
import { FunctionPool } from '../../../local/functions/function-pool.ts'
import type { FunctionOutput, Outcome } from '../../../local/functions/messages.ts'
import type { FunctionPlan } from '../../../local/template/plan-functions.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { aFunction, writeCode } from '../a-function.ts'

export const echo = 'export const handler = async (event) => ({ ...event, pid: process.pid })'

/** To be called once; what it makes ends with each test. */
export function usePools() {
  const directory = temporaryFolder()
  const pools: FunctionPool[] = []
  const outputs: FunctionOutput[] = []
  let codes = 0

  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.stop(0)))
    outputs.length = 0
  })

  return {
    directory,
    outputs,
    texts: () => outputs.map(({ text }) => text),
    poolOf(
      code: string,
      plan: Partial<FunctionPlan> = {},
      settings: Partial<PoolSettings> = {},
    ): FunctionPool {
      const pool = new FunctionPool({
        plan: aFunction(writeCode(directory, `f${codes++}`, code), plan),
        endpoints: {
          dynamodbEndpoint: 'http://127.0.0.1:1',
          s3Endpoint: 'http://127.0.0.1:2',
          lambdaEndpoint: 'http://127.0.0.1:9',
          eventBridgeEndpoint: 'http://127.0.0.1:3',
          apiAddresses: new Map(),
        },
        processesMax: 2,
        eager: 2,
        onOutput: (output) => outputs.push(output),
        ...settings,
      })
      pools.push(pool)
      return pool
    },
  }
}

export const answer = (outcome: Outcome) =>
  outcome.kind === 'answered' ? JSON.parse(outcome.payload) : outcome
