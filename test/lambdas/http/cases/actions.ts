import { expect } from 'vitest'
import { clearOfMidnight } from '../../../support/midnight.ts'
import {
  type Call,
  type CallOptions,
  type CaseTools,
  type HttpAnswer,
  type Json,
  json,
} from '../call.ts'

/** What cases do over and over. */

export const path = (queue: string, verb = ''): string =>
  verb === '' ? `/queue/${queue}` : `/queue/${queue}/${verb}`

export async function push(call: Call, queue: string, body: unknown): Promise<Json> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return expectOk(await call('POST', path(queue, 'push'), { body: text }))
}

/** One push of these items, at one priority each. */
export const pushItems = (call: Call, queue: string, items: readonly unknown[], priority = 0) =>
  push(call, queue, { items: items.map((item) => ({ item, priority })) })

export async function pop(call: Call, queue: string, query = ''): Promise<Json> {
  return expectOk(await call('POST', path(queue, 'pop'), { query }))
}

export const lock = (call: Call, queue: string, query = '') =>
  pop(call, queue, query === '' ? 'require_ack=true' : `require_ack=true&${query}`)

export const post = (call: Call, queue: string, verb: string, body?: unknown) =>
  call('POST', path(queue, verb), body === undefined ? {} : { body: JSON.stringify(body) })

export async function inspect(call: Call, queue: string): Promise<Json> {
  return expectOk(await call('GET', path(queue), { query: 'consistent=true' }))
}

export function expectOk(answer: HttpAnswer): Json {
  expect(answer.status, answer.text).toBe(200)
  return json(answer)
}

export function expectError(answer: HttpAnswer, status: number, code: string): Json {
  const body = json(answer)
  expect({ status: answer.status, code: body.error_code }, answer.text).toEqual({ status, code })
  expect(body.success).toBe(false)
  return body
}

export const nowSeconds = (): number => Date.now() / 1000

/** The same on one queue. */
export const on = (call: Call, queue: string) => ({
  call: (method: string, verb: string, options?: CallOptions) =>
    call(method, path(queue, verb), options),
  push: (body: unknown) => push(call, queue, body),
  pushItems: (items: readonly unknown[], priority?: number) =>
    pushItems(call, queue, items, priority),
  pop: (query?: string) => pop(call, queue, query),
  lock: (query?: string) => lock(call, queue, query),
  post: (verb: string, body?: unknown) => post(call, queue, verb, body),
  inspect: () => inspect(call, queue),
  configure: (change: unknown, ifMatch?: string) => {
    const headers = ifMatch === undefined ? {} : { 'If-Match': ifMatch }
    return call('PUT', path(queue, 'config'), { body: JSON.stringify(change), headers })
  },
})

/** A promise of the API, tried on a queue or key that no other has used. */
export type Case = (
  tools: CaseTools & { readonly id: string; readonly q: ReturnType<typeof on> },
) => Promise<void>
/** By name; a name is a sentence. */
export type Cases = Readonly<Record<string, Case>>

export async function runCase(run: Case, tools: CaseTools): Promise<void> {
  await clearOfMidnight()
  const id = tools.queue()
  return run({ ...tools, id, q: on(tools.call, id) })
}

/**
 * For what a case must see before a second is over, such as an item that is still for later. If the machine was too
 * busy for that, it looks again; so each look needs a queue that no other has used.
 */
export async function withinASecond<T>(look: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const startedAt = nowSeconds()
    try {
      return await look()
    } catch (error) {
      if (nowSeconds() < startedAt + 1 || attempt === 10) throw error
    }
  }
}
