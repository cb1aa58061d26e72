// Functions whose code is replaced while they run: the locks that the old code held end by an announcement, and nothing
// that could have a lock begins before that is done.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { type Functions, startFunctions } from '../../../local/functions/start-functions.ts'
import { planStack } from '../../../local/template/plan.ts'
import type { FunctionPlan } from '../../../local/template/plan-functions.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { aFunction, writeCode } from '../a-function.ts'
import { until, withJournal } from '../a-stack.ts'

let directory: string
let functions: Functions | undefined
const notices: string[] = []
afterEach(async () => {
  await functions?.stop(0)
  notices.length = 0
})

const journal = (): string[] => {
  const file = join(directory, 'journal')
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
}
const make = (name: string) => writeCode(directory, name, '')

/** Writes down its event, and ends when the file of that name is there. */
const gated = (name: string, gate: string) =>
  withJournal(
    directory,
    `export const handler = async (event) => {
      write('${name} ' + JSON.stringify(event))
      while (!exists('${gate}')) await new Promise((resolve) => setTimeout(resolve, 5))
      return {}
    }`,
  )

async function started(isAlone = true, more: Partial<FunctionPlan> = {}) {
  directory = temporaryFolder()
  const planOf = (id: string, gate: string, more = {}) => ({
    ...aFunction(writeCode(directory, `${id}-1`, gated(id, gate)), { id, ...more }),
    arn: `arn:aws:lambda:us-east-1:123456789012:function:${id}`,
  })
  const work = planOf('Work', 'never', more)
  const other = planOf('Other', 'other')
  const announcing = { afterLoss: { again: {} }, afterRestart: { again: { all: true } } }
  const sweep = planOf('Sweep', 'swept', announcing)
  functions = await startFunctions({
    plan: { ...planStack([]), functions: [work, other, sweep] },
    sqs: async () => ({}),
    apiAddresses: new Map(),
    dynamodbEndpoint: 'http://127.0.0.1:1',
    s3Endpoint: 'http://127.0.0.1:2',
    processesMax: 2,
    isAlone,
    watch: () => {},
    forget: () => {},
    onOutput: () => {},
    onNotice: (sentence) => notices.push(sentence),
  })
  const fresh = (version: number) => ({
    ...work,
    codeDirectory: writeCode(directory, `Work-${version}`, gated(`Work ${version}`, 'worked')),
  })
  const submit = (arn: string, event: object) =>
    functions?.asyncInvoker.submit(arn, JSON.stringify(event))
  return { work, other, sweep, fresh, submit, functions }
}

test('What comes while a function is replaced begins when the old locks have ended, and not before.', async () => {
  const { work, other, fresh, submit, functions } = await started()
  submit(work.arn, { n: 1 })
  await until(() => journal().length === 1)
  await functions.replace([fresh(2)])
  submit(work.arn, { n: 2 })
  submit(other.arn, { n: 3 })
  await until(() => journal().length === 2)
  // The event that the old code had comes again after half a second.
  await delay(800)
  expect(journal()).toEqual(['"Work {\\"n\\":1}"', '"Sweep {\\"again\\":{\\"all\\":true}}"'])
  make('swept')
  await until(() => journal().length === 5)
  expect(journal().slice(2).sort()).toEqual([
    '"Other {\\"n\\":3}"',
    '"Work 2 {\\"n\\":1}"',
    '"Work 2 {\\"n\\":2}"',
  ])
}, 30_000)

test('A second change meanwhile makes them wait for its own announcement too.', async () => {
  const { work, fresh, sweep, submit, functions } = await started()
  submit(work.arn, { n: 1 })
  await until(() => journal().length === 1)
  await functions.replace([fresh(2)])
  await until(() => journal().length === 2)
  // Everything has changed: also the function that announces.
  const code = writeCode(directory, 'Sweep-2', gated('Sweep 2', 'swept-2'))
  await functions.replace([fresh(3), { ...sweep, codeDirectory: code }])
  await until(() => journal().filter((line) => line.startsWith('"Sweep 2')).length === 2)
  make('swept')
  await delay(800)
  expect(journal().filter((line) => line.startsWith('"Work'))).toHaveLength(1)
  make('swept-2')
  await until(() => journal().includes('"Work 3 {\\"n\\":1}"'))
}, 30_000)

test.each([
  { others: 'another function is', isAlone: true },
  { others: 'another stack may be', isAlone: false },
])(
  'While $others at work all locks stay, and no event waits.',
  async ({ isAlone }) => {
    const { work, other, fresh, submit, functions } = await started(isAlone)
    submit(work.arn, { n: 1 })
    if (isAlone) submit(other.arn, { n: 2 })
    await until(() => journal().length === (isAlone ? 2 : 1))
    await functions.replace([fresh(2)])
    await until(() => journal().some((line) => line.startsWith('"Work 2')))
    await until(() => journal().some((line) => line.startsWith('"Sweep')))
    expect(journal().filter((line) => line.startsWith('"Sweep'))).toEqual([
      '"Sweep {\\"again\\":{}}"',
    ])
  },
  30_000,
)

test('New code does not count against an event, even if the event may not be tried again.', async () => {
  const { work, fresh, submit, functions } = await started(false, { asyncRetriesMax: 0 })
  submit(work.arn, { n: 1 })
  await until(() => journal().length === 1)
  await functions.replace([fresh(2)])
  await until(() => journal().some((line) => line.startsWith('"Work 2')))
  expect(notices).toEqual([])
}, 30_000)
