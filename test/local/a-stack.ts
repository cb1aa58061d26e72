// A running stack of functions given as text, and what its functions wrote down.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type LocalStack,
  type LocalStackOptions,
  startLocalStack,
} from '../../local/start-local-stack.ts'
import { dynamodbApi } from '../../local/stores/store-api.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type Shop, writeAssembly } from './an-assembly.ts'

export type Workplace = {
  readonly directory: string
  /** Everything a function wrote with `write` of the code below, oldest first. */
  journal(): unknown[]
  start(shop: Shop, options?: Partial<LocalStackOptions>): Promise<LocalStack>
  cleanUp(): Promise<void>
}

/** Code for a function: `write(value)` puts it into the journal, `exists(name)` looks for a file. */
export const withJournal = (directory: string, code: string) => `
  import { appendFileSync, existsSync } from 'node:fs'
  const write = (value) =>
    appendFileSync(${JSON.stringify(join(directory, 'journal'))}, JSON.stringify(value) + '\\n')
  const exists = (name) => existsSync(${JSON.stringify(directory)} + '/' + name)
  ${code}`

export function makeWorkplace(): Workplace {
  const directory = temporaryFolder()
  const stacks: LocalStack[] = []
  return {
    directory,
    journal() {
      const file = join(directory, 'journal')
      if (!existsSync(file)) return []
      const lines = readFileSync(file, 'utf8').split('\n')
      return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
    },
    async start(shop, options = {}) {
      const assembly = writeAssembly(join(directory, 'cdk.out'), shop)
      const stack = await startLocalStack({
        port: 0,
        environment: {},
        assembly,
        directory: join(directory, 'data'),
        ...options,
      })
      stacks.push(stack)
      return stack
    },
    async cleanUp() {
      await Promise.all(stacks.map((stack) => stack.stop()))
    },
  }
}

export async function until(holds: () => boolean | Promise<boolean>) {
  while (!(await holds())) await delay(10)
}

export const putItem = (stack: LocalStack, pk: string, more: object = {}) =>
  dynamodbApi(stack.dynamodbEndpoint)('PutItem', {
    TableName: 'Shop-Table',
    Item: { pk: { S: pk }, ...more },
  })
