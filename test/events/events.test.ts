import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { routes } from '../../lambdas/http/routes.ts'
import type { FunctionOutput } from '../../local/functions/messages.ts'
import { lockIn, withLock } from '../../scripts/invoke.ts'
import { type LocalStack, startLocalStack } from '../../testing/index.ts'
import { checkAnswer } from '../lambdas/http/documented.ts'
import { clearOfMidnight } from '../support/midnight.ts'
import { eventOf, folder } from './changed-event.ts'
import { type Expected, expectedEvents } from './expected.ts'

let stack: LocalStack
let lockId: string | undefined
const output: FunctionOutput[] = []
beforeAll(async () => {
  // All events come within one window.
  await clearOfMidnight(30_000)
  stack = await startLocalStack({ port: 0, listeners: { onOutput: (line) => output.push(line) } })
})
afterAll(() => stack?.stop())

const isLast = ({ json }: FunctionOutput): boolean =>
  json?.message === 'request' || json?.message === 'run'
const linesOf = (functionId: string): number =>
  output.filter((it) => it.functionId === functionId && isLast(it)).length

type HttpAnswer = {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

async function replay({ event, function: functionId, outcome, logged }: Expected) {
  const before = linesOf(functionId)
  const outcomeSeen = await stack.invoke(functionId, withLock(event, lockId))
  expect(outcomeSeen.kind).toBe('answered')
  const payload = outcomeSeen.kind === 'throttled' ? '' : outcomeSeen.payload
  lockId = lockIn(payload) ?? lockId
  // The log comes another way than the answer, and may come after it.
  await vi.waitFor(() => expect(linesOf(functionId)).toBeGreaterThan(before), { timeout: 20_000 })
  const line = output.findLast((it) => it.functionId === functionId && isLast(it))
  expect(line?.json).toMatchObject(logged)
  if ('returned' in outcome) {
    expect(JSON.parse(payload)).toMatchObject(outcome.returned)
    return
  }
  const { statusCode: status, headers, body } = JSON.parse(payload) as HttpAnswer
  expect(status, body).toBe(outcome.status)
  expect(body === '' ? {} : JSON.parse(body)).toMatchObject(outcome.body)
  const { rawPath: path, requestContext: context } = event as {
    rawPath?: string
    requestContext: { http?: { method: string } }
  }
  if (path !== undefined) {
    checkAnswer(context.http?.method ?? '', path, { status, headers, text: body }, new Set())
  }
}

const replays: Promise<void>[] = []

/** What an event is about was made by those before it: a test that runs alone replays these, too. */
function replayed(index: number): Promise<void> {
  const before = index === 0 ? Promise.resolve() : replayed(index - 1).catch(() => {})
  replays[index] ??= before.then(() => replay(expectedEvents[index] as Expected))
  return replays[index]
}

describe('The events, on the synthesised functions', () => {
  it.each(expectedEvents.map((one, i) => [`${i + 1}. ${one.function}: ${one.name}`, i] as const))(
    '%s',
    (_, index) => replayed(index),
  )

  it('are all replayed, and there is one at least for each route and function.', () => {
    const files = readdirSync(folder).map((file) => file.replace('.json', ''))
    const replayed = new Set(expectedEvents.flatMap(({ file }) => file ?? []))
    expect([...replayed].sort()).toEqual(files.sort())
    const keys = files.map((name) => eventOf(name).routeKey)
    for (const { method, path } of routes) expect(keys).toContain(`${method} ${path}`)
    const functions = new Set(expectedEvents.map((one) => one.function))
    expect([...functions].sort()).toEqual(stack.plan.functions.map(({ id }) => id).sort())
  })

  it('leave no payload and no lock in any log.', async () => {
    await replayed(expectedEvents.length - 1)
    const all = output.map(({ text }) => text).join('\n')
    for (const secret of ['order-19', 'urgent', 'just text', 'address unknown', lockId ?? '-']) {
      expect(all).not.toContain(secret)
    }
  })
})
