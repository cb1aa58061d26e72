// `--env FILE`: what other programs need to reach the stores of a stack that runs, such as `pushpop doctor`.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { StartError } from '../start-error.ts'
import type { LocalStack } from '../start-local-stack.ts'
import { type StoreEndpoints, storeEnvironment } from '../stores/store-environment.ts'

const FIRST_LINE = '# The local stack wrote this, and writes it again at each start.'

type Reached = StoreEndpoints & Pick<LocalStack, 'plan'>

/** The file may be somebody's own, with secrets in it. */
export function checkEnvFile(file: string): void {
  if (!existsSync(file) || readFileSync(file, 'utf8').startsWith(FIRST_LINE)) return
  throw new StartError(
    `Cannot write the environment to ${file} because another program or you wrote that file: name a new one`,
  )
}

export function writeEnvFile(file: string, stack: Reached): void {
  const lines = Object.entries(environmentTo(stack)).map(
    ([name, value]) => `export ${name}='${value}'`,
  )
  writeFileSync(file, [FIRST_LINE, ...lines, ''].join('\n'))
}

/** A shell reads it, and so do Node (`--env-file`) and dotenv. */
function environmentTo({ plan, ...endpoints }: Reached) {
  const service = plan.functions.find(({ environment: { PUSHPOP_TABLE } }) => PUSHPOP_TABLE)
  const { PUSHPOP_TABLE = '', PUSHPOP_BUCKET = '' } = service?.environment ?? {}
  return {
    ...(service !== undefined && { PUSHPOP_TABLE, PUSHPOP_BUCKET }),
    // What the shell has of these would come first, or would not go with this key.
    PUSHPOP_ENDPOINT: '',
    AWS_PROFILE: '',
    AWS_SESSION_TOKEN: '',
    ...storeEnvironment(endpoints),
  }
}
