// 64 clients that know nothing of each other: they push, pop, acknowledge, extend, release and look, and
// keep account of what the service answers.

import { deadLetterQueueOf } from '../../../shared/bounds.ts'
import type { Random } from '../../../testing/random.ts'
import type { DeliveryAccounts, Outcome } from '../../support/delivery-account.ts'
import { type Answer, HttpClient } from './http-client.ts'

/** All clients use a queue in one way, so that we know what must become of its items. */
export const queues = [
  { id: 'exclusive-1', competing: false, lock: true },
  { id: 'exclusive-2', competing: false, lock: true },
  { id: 'competing-1', competing: true, lock: true },
  { id: 'competing-2', competing: true, lock: true },
  { id: 'competing-3', competing: true, lock: true },
  { id: 'unlocked-1', competing: true, lock: false },
  { id: 'unlocked-2', competing: false, lock: false },
] as const
type Queue = (typeof queues)[number]

/** The codes in the API's page, by status. A gateway's own answers have no code. */
const documented: Readonly<Record<number, readonly string[]>> = {
  400: ['INVALID_LOCK_ID'],
  404: ['LOCK_NOT_FOUND'],
  410: ['LOCK_EXPIRED'],
  423: ['QUEUE_LOCKED'],
  429: ['TOO_MANY_LOCKS'],
  503: ['BUSY', 'STORE_UNAVAILABLE', 'SEGMENT_UNAVAILABLE'],
}

export type Soak = {
  readonly url: string
  readonly accounts: DeliveryAccounts
  /** Answers that the API's page does not allow. */
  readonly violations: string[]
  readonly random: Random
  /** When a function is killed, the gateway answers in its place. */
  readonly gatewayAnswers: { count: number }
  readonly statuses: Map<string, number>
}

export async function client(soak: Soak, name: string, until: () => boolean): Promise<void> {
  const http = new HttpClient(soak.url)
  const { random } = soak
  for (let turn = 0; !until(); turn += 1) {
    const queue = random.pick(queues)
    const what = random.next()
    if (what < 0.45) await push(soak, http, queue, `${name}.${turn}`)
    else if (what < 0.93) await pop(soak, http, queue)
    else await look(soak, http, queue)
  }
  http.close()
}

/** Takes everything that is left, until the queue says so: locks left behind have to expire first. */
export async function drain(soak: Soak, queue: Queue, deadLetters: boolean): Promise<void> {
  const http = new HttpClient(soak.url)
  const id = deadLetters ? deadLetterQueueOf(queue.id) : queue.id
  const untilMs = performance.now() + DRAIN_MS_MAX
  for (;;) {
    const found = await pop(soak, http, queue, true, deadLetters)
    if (found > 0) continue
    const state = await call(soak, http, 'GET', `/queue/${id}?consistent=true`)
    if (state?.status === 200 && state.body.count === 0 && state.body.dead_count === 0) break
    if (performance.now() > untilMs) throw new Error(`${id} does not drain`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  http.close()
}

/** The longest lock lives 5 s; the rest is for a busy machine. */
const DRAIN_MS_MAX = 40_000

async function push(soak: Soak, http: HttpClient, { id }: Queue, name: string): Promise<void> {
  const { accounts, random } = soak
  const count = random.chance(0.8) ? 1 : random.between(2, 60)
  const items = Array.from({ length: count }, (_, index) => ({
    item: `${name}.${index} ${'x'.repeat(random.pick([0, 50, 300]))}`,
    priority: random.pick([0, 0, 1, 7]),
  }))
  const pushed = accounts
    .of(id)
    .pushing(items.map(({ item, priority }) => ({ name: item, priority })))
  pushed(outcomeOf(await call(soak, http, 'POST', `/queue/${id}/push`, { items })))
}

async function pop(
  soak: Soak,
  http: HttpClient,
  { id: queue, competing, lock }: Queue,
  draining = false,
  deadLetters = false,
): Promise<number> {
  const { accounts, random } = soak
  const count = draining ? 100 : random.pick([1, 1, 5, 20])
  const ttl = random.pick([1, 2, 5])
  const query = new URLSearchParams({
    count: String(count),
    ...(lock && { require_ack: 'true', ttl_seconds: String(ttl) }),
    ...(competing && { allow_competing_consumers: 'true' }),
  })
  const id = deadLetters ? deadLetterQueueOf(queue) : queue
  const popped = accounts.of(id).popping()
  const answer = await call(soak, http, 'POST', `/queue/${id}/pop?${query}`)
  if (answer?.status !== 200) {
    if (!lock && outcomeOf(answer) === 'unknown') {
      accounts.of(id).tookUnseen({ least: 0, most: count })
    }
    return answer?.status === 423 ? -1 : 0
  }
  const { items, details, lock_id: lockId } = answer.body as PopBody
  popped({
    items: items.map((name, index) => ({ name, deliveries: details[index]?.deliveries ?? 0 })),
    ...(lockId !== undefined && { lockId }),
  })
  if (lockId !== undefined) await settle(soak, http, { id, lockId, items, details }, draining)
  return items.length
}

type PopBody = {
  readonly items: readonly string[]
  readonly details: readonly { readonly id: string; readonly deliveries: number }[]
  readonly lock_id?: string
}

type Held = Pick<PopBody, 'items' | 'details'> & { readonly id: string; readonly lockId: string }

async function settle(soak: Soak, http: HttpClient, held: Held, draining: boolean): Promise<void> {
  const { accounts, random } = soak
  const { id, lockId, items, details } = held
  const post = (verb: string, body: object = {}) =>
    call(soak, http, 'POST', `/queue/${id}/${verb}`, { lock_id: lockId, ...body })
  const what = draining ? 1 : random.next()
  // Forgotten, as by a consumer that died: the items come back.
  if (what < 0.06) return
  if (what < 0.12) {
    await post('release')
    return
  }
  if (what < 0.15) {
    await post('dead-letter', { reason: 'as if it were poison' })
    return
  }
  if (what < 0.2) await post('extend-lock', { ttl_seconds: 2 })
  const part = what < 0.35 && items.length > 1 ? Math.ceil(items.length / 2) : undefined
  const ids = part === undefined ? undefined : details.slice(0, part).map((detail) => detail.id)
  const acknowledged = accounts.of(id).acknowledging(lockId, items.slice(0, part))
  acknowledged(outcomeOf(await post('acknowledge', ids === undefined ? {} : { ids })))
}

async function look(soak: Soak, http: HttpClient, { id }: Queue): Promise<void> {
  const path = soak.random.pick([
    `/queue/${id}`,
    `/queue/${id}/items?limit=50`,
    '/queues?limit=5',
    `/queue/${id}/config`,
  ])
  await call(soak, http, 'GET', path)
}

/** A refusal that names a code says that nothing was changed, unless it says otherwise. */
function outcomeOf(answer: Answer | undefined): Outcome {
  if (answer?.status === 200) return 'yes'
  const isDefinite = answer?.body.error_code !== undefined && answer.body.outcome !== 'unknown'
  return isDefinite ? 'no' : 'unknown'
}

async function call(
  soak: Soak,
  http: HttpClient,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer | undefined> {
  const answer = await http.call(method, path, body)
  const code = answer?.body.error_code ?? ''
  const key = `${method} ${path.replace(/\?.*/, '').replace(/queue\/[^/]+/, 'queue/{id}')} ${answer?.status ?? 'cut off'} ${code}`
  soak.statuses.set(key, (soak.statuses.get(key) ?? 0) + 1)
  if (answer === undefined || answer.status === 200) return answer
  if (code === '') soak.gatewayAnswers.count += 1
  else if (!documented[answer.status]?.includes(code)) {
    soak.violations.push(`${key}: ${JSON.stringify(answer.body)}`)
  }
  return answer
}
