// 64 clients that know nothing of each other: they push, pop, acknowledge, extend, release, look and
// hold the service to what it says.

import type { Random } from '../../../testing/random.ts'
import { type Answer, HttpClient } from './http-client.ts'
import type { Ledger } from './ledger.ts'

/** Each queue is used in one way, so that it is known what must become of its items. */
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

/** What the API's page names, by status. Gateways have answers of their own, without a code. */
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
  readonly ledger: Ledger
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
  const id = deadLetters ? `${queue.id}-deadletter` : queue.id
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
  const { ledger, random } = soak
  const count = random.chance(0.8) ? 1 : random.between(2, 60)
  const items = Array.from({ length: count }, (_, index) => ({
    item: `${name}.${index} ${'x'.repeat(random.pick([0, 50, 300]))}`,
    priority: random.pick([0, 0, 1, 7]),
  }))
  for (const { item } of items) ledger.pushing(id, item)
  const answer = await call(soak, http, 'POST', `/queue/${id}/push`, { items })
  const how = answer?.status === 200 ? 'yes' : isDefinite(answer) ? 'no' : 'perhaps'
  for (const { item } of items) ledger.pushed(id, item, how)
}

async function pop(
  soak: Soak,
  http: HttpClient,
  queue: Queue,
  draining = false,
  deadLetters = false,
): Promise<number> {
  const { ledger, random } = soak
  const { id, competing, lock } = queue
  const count = draining ? 100 : random.pick([1, 1, 5, 20])
  const ttl = random.pick([1, 2, 5])
  const query = new URLSearchParams({
    count: String(count),
    ...(lock && { require_ack: 'true', ttl_seconds: String(ttl) }),
    ...(competing && { allow_competing_consumers: 'true' }),
  })
  const takenBefore = ledger.takenBefore(id)
  const from = deadLetters ? `${id}-deadletter` : id
  const answer = await call(soak, http, 'POST', `/queue/${from}/pop?${query}`)
  if (answer?.status !== 200) {
    if (!lock && !isDefinite(answer)) ledger.popLost(id, count)
    return answer?.status === 423 ? -1 : 0
  }
  const texts: string[] = answer.body.items
  ledger.popped(id, texts, { takenBefore, locked: lock })
  // Dead letters are in the order in which they were given up.
  if (!deadLetters) checkOrder(soak, id, answer.body)
  const lockId: string | undefined = answer.body.lock_id
  if (lockId !== undefined)
    await settle(soak, http, { id, from, lockId, texts, details: answer.body.details }, draining)
  return texts.length
}

type Held = {
  readonly id: string
  /** The queue, or its dead-letter queue. */
  readonly from: string
  readonly lockId: string
  readonly texts: readonly string[]
  readonly details: readonly { readonly id: string }[]
}

async function settle(soak: Soak, http: HttpClient, held: Held, draining: boolean): Promise<void> {
  const { ledger, random } = soak
  const { id, from, lockId, texts, details } = held
  const what = draining ? 1 : random.next()
  // Forgotten, as by a consumer that died: the items come back.
  if (what < 0.06) return
  if (what < 0.12) {
    await call(soak, http, 'POST', `/queue/${from}/release`, { lock_id: lockId })
    return
  }
  if (what < 0.15) {
    const reason = 'as if it were poison'
    await call(soak, http, 'POST', `/queue/${from}/dead-letter`, { lock_id: lockId, reason })
    return
  }
  if (what < 0.2) {
    await call(soak, http, 'POST', `/queue/${from}/extend-lock`, {
      lock_id: lockId,
      ttl_seconds: 2,
    })
  }
  const part = what < 0.35 && texts.length > 1 ? Math.ceil(texts.length / 2) : undefined
  const ids = part === undefined ? undefined : details.slice(0, part).map((detail) => detail.id)
  const body = { lock_id: lockId, ...(ids !== undefined && { ids }) }
  const answer = await call(soak, http, 'POST', `/queue/${from}/acknowledge`, body)
  if (answer?.status === 200) ledger.acknowledged(id, texts.slice(0, part), 'yes')
  else if (!isDefinite(answer)) ledger.acknowledged(id, texts.slice(0, part), 'perhaps')
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

/** Best priority first, and what one client pushed in one call in its order. */
function checkOrder(
  { ledger }: Soak,
  id: string,
  body: { items: string[]; details: { priority: number; id: string }[] },
): void {
  const priorities = body.details.map(({ priority }) => priority)
  if (priorities.some((priority, index) => priority < (priorities[index - 1] ?? 0))) {
    ledger.violations.push(`${id} answered priorities ${priorities}`)
  }
  const last = new Map<string, number>()
  for (const [index, text] of body.items.entries()) {
    const [call, number] = splitLast(text.split(' ')[0] as string)
    const key = `${call} ${priorities[index]}`
    if (Number(number) <= (last.get(key) ?? -1)) {
      const order = body.items.map((item, at) => `${item.split(' ')[0]}=${body.details[at]?.id}`)
      ledger.violations.push(`${id} answered ${text} late: ${order.join(', ')}`)
    }
    last.set(key, Number(number))
  }
}

const splitLast = (name: string): [string, string] => {
  const at = name.lastIndexOf('.')
  return [name.slice(0, at), name.slice(at + 1)]
}

/** A refusal that says that nothing was changed. */
const isDefinite = (answer: Answer | undefined): boolean =>
  answer?.body.error_code !== undefined &&
  answer.body.outcome !== 'unknown' &&
  answer.status !== 200

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
    soak.ledger.violations.push(`${key}: ${JSON.stringify(answer.body)}`)
  }
  return answer
}
