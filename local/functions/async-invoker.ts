// Events that nobody waits for: Lambda queues them, runs them when it can, and tries twice more after a failure. Here
// the queue is in memory and ends with the stack. Schedules, buses and other functions (by Lambda's Invoke) bring them.
// After a restart, or when code is replaced, a hold lets none begin until it is known whose locks are over.

import type { IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { decode } from '../gateway/requests.ts'
import {
  isFromAPage,
  type LocalServer,
  NOT_FOR_PAGES,
  readText,
  serveProcesses,
} from '../loopback.ts'
import type { FunctionPlan } from '../template/plan-functions.ts'
import type { FunctionPool } from './function-pool.ts'
import type { Outcome } from './messages.ts'

type AsyncInvokerSettings = {
  readonly pools: ReadonlyMap<string, FunctionPool>
  readonly onDropped: (functionId: string, event: string, reason: string) => void
  readonly onAnswered?: ((functionId: string) => void) | undefined
  readonly retryFirstMs?: number | undefined
}

/** Some 10 MB of ordinary events for each function. */
const WAITING_MAX = 10_000
/** Lambda waits a minute, then two; here you would think that nothing happens. */
const RETRY_FIRST_MS = 500

const throttled: Outcome = { kind: 'throttled' }

type Waiting = { readonly event: string; readonly key: string | undefined }

export class AsyncInvoker {
  readonly #settings: AsyncInvokerSettings
  readonly #waiting = new Map<string, Waiting[]>()
  readonly #running = new Map<string, number>()
  readonly #keys = new Set<string>()
  /** The pools that have been given an event. */
  readonly #reached = new Set<FunctionPool>()
  readonly #holds = new Set<PromiseWithResolvers<void>>()
  readonly #stop = new AbortController()

  constructor(settings: AsyncInvokerSettings) {
    this.#settings = settings
  }

  /** Leaves the event out while an earlier one with the same key is not done. */
  submit(functionArn: string, event: string, key?: string): void {
    const pool = this.#settings.pools.get(functionArn)
    if (!pool || this.#stop.signal.aborted) return
    if (key !== undefined && this.#keys.has(key)) return
    const waiting = this.#waiting.get(functionArn) ?? []
    this.#waiting.set(functionArn, waiting)
    if (waiting.length >= WAITING_MAX) {
      this.#settings.onDropped(pool.plan.id, event, `${WAITING_MAX} events wait already`)
      return
    }
    if (key !== undefined) this.#keys.add(key)
    waiting.push({ event, key })
    this.#next(pool)
  }

  /** Tries an event once, for a caller who waits for the outcome; not if it has not begun by that time. */
  async invoke(
    functionArn: string,
    event: string,
    beginsByMs = Number.POSITIVE_INFINITY,
  ): Promise<Outcome> {
    const pool = this.#settings.pools.get(functionArn)
    if (!pool) return throttled
    let hasBegun = false
    const outcome = this.#try(pool, event, () => {
      hasBegun = Date.now() < beginsByMs
      return hasBegun
    })
    if (!Number.isFinite(beginsByMs)) return outcome
    const isTime = delay(Math.max(0, beginsByMs - Date.now()), throttled, { ref: false })
    const first = await Promise.race([outcome, isTime])
    return hasBegun ? outcome : first
  }

  /**
   * From now on no event begins, not even one that waits for a process already, until the caller calls what it gets.
   * Functions with an event for a restart go on: they bring the end of the wait.
   */
  hold(): () => void {
    const held = Promise.withResolvers<void>()
    this.#holds.add(held)
    return () => {
      this.#holds.delete(held)
      held.resolve()
    }
  }

  /** Whether a function is at work that gets events and that a hold would hold. */
  isAtWork(): boolean {
    return [...this.#reached].some((pool) => pool.isAtWork && !pool.plan.afterRestart)
  }

  stop(): void {
    this.#stop.abort()
    this.#waiting.clear()
    for (const { resolve } of this.#holds) resolve()
    this.#holds.clear()
  }

  #next(pool: FunctionPool): void {
    const { arn } = pool.plan
    const running = this.#running.get(arn) ?? 0
    // The pool limits how many wait in it, so we hand over only what can run now.
    if (running >= pool.processesMax) return
    const next = this.#waiting.get(arn)?.shift()
    if (!next) return
    this.#running.set(arn, running + 1)
    this.#run(pool, next.event).then(() => {
      this.#running.set(arn, (this.#running.get(arn) ?? 1) - 1)
      if (next.key !== undefined) this.#keys.delete(next.key)
      this.#next(pool)
    })
  }

  async #run(pool: FunctionPool, event: string): Promise<void> {
    const { asyncRetriesMax, id } = pool.plan
    const { signal } = this.#stop
    const firstMs = this.#settings.retryFirstMs ?? RETRY_FIRST_MS
    for (let failures = 0; !signal.aborted; ) {
      const { kind } = await this.#try(pool, event)
      if (kind === 'answered') return this.#settings.onAnswered?.(id)
      // Throttled is not a failure: the function has not tried.
      if (kind === 'failed') failures += 1
      if (failures > asyncRetriesMax) {
        const times = failures === 1 ? 'once' : `${failures} times`
        if (!signal.aborted) this.#settings.onDropped(id, event, `the function failed ${times}`)
        return
      }
      const pauseMs = firstMs * Math.max(1, failures)
      await delay(pauseMs, undefined, { signal }).catch(() => {})
    }
  }

  async #try(pool: FunctionPool, event: string, mayBegin = () => true): Promise<Outcome> {
    this.#reached.add(pool)
    for (let held = this.#heldBy(pool); held; held = this.#heldBy(pool)) await held.promise
    if (this.#stop.signal.aborted) return throttled
    return pool.invoke(event, Number.POSITIVE_INFINITY, () => !this.#heldBy(pool) && mayBegin())
  }

  #heldBy({ plan }: FunctionPool): PromiseWithResolvers<void> | undefined {
    return plan.afterRestart ? undefined : [...this.#holds][0]
  }
}

type Answer = { readonly status: number; readonly type?: string; readonly message?: string }

const PATH = /^\/2015-03-31\/functions\/([^/?]+)\/invocations(\?.*)?$/

/** Lambda's. */
const EVENT_BYTES_MAX = 1024 * 1024

/** Lambda's Invoke, by which a function of the stack calls another one with an event and does not wait. */
export const startInvokeServer = (
  functions: readonly FunctionPlan[],
  invoker: Pick<AsyncInvoker, 'submit'>,
): Promise<LocalServer> =>
  serveProcesses(async (request, response) => {
    const { status, type, message } = await answer(functions, invoker, request)
    response.writeHead(status, {
      'content-type': 'application/json',
      ...(type !== undefined && { 'x-amzn-errortype': type }),
    })
    response.end(type === undefined ? '' : JSON.stringify({ Type: 'User', message }))
  })

async function answer(
  functions: readonly FunctionPlan[],
  invoker: Pick<AsyncInvoker, 'submit'>,
  request: IncomingMessage,
): Promise<Answer> {
  const { method, url = '', headers } = request
  if (isFromAPage(headers)) return refusal('AccessDeniedException', NOT_FOR_PAGES, 403)
  const [, encoded, query] = (method === 'POST' && PATH.exec(url)) || []
  if (encoded === undefined || query !== undefined) {
    const what = `The local stack knows Invoke without a qualifier only: ${method} ${url}`
    return refusal('UnknownOperationException', what, 404)
  }
  const kind = headers['x-amz-invocation-type'] ?? 'RequestResponse'
  if (kind !== 'Event') {
    const what = `The local stack calls functions only with events that nobody waits for (InvocationType Event), not as ${kind}`
    return refusal('InvalidParameterValueException', what)
  }
  const name = decode(encoded)
  const called = functions.find((one) => one.name === name || one.arn === name)
  if (!called) {
    return refusal('ResourceNotFoundException', `There is no function ${name} in this stack`, 404)
  }
  const text = await readText(request, EVENT_BYTES_MAX)
  if (text === undefined) {
    return refusal('RequestTooLargeException', 'The event may have up to 1 MiB', 413)
  }
  const event = text || '{}'
  if (!isJson(event)) return refusal('InvalidRequestContentException', 'The event must be JSON')
  invoker.submit(called.arn, event)
  return { status: 202 }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const refusal = (type: string, message: string, status = 400): Answer => ({ status, type, message })
