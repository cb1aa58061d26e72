// Measures one peer in a separate process, so that nothing else adds to its CPU and memory:
//
//   node bench/peers/measure.ts NAME {addresses and amounts as JSON}

import { readFileSync } from 'node:fs'
import { createItems, quantile } from '../load.ts'
import { type Addresses, AT_ONCE, eachOf, type OnItem, type Peer, type SinglePeer } from './peer.ts'

export type Amounts = {
  readonly singly: number
  readonly bulks: number
  readonly tenants: number
  readonly idleSeconds: number
}
type Speed = { readonly perSecond: number; readonly p50Ms: number; readonly p99Ms: number }
type Singly = { readonly push: Speed; readonly take: Speed }
type InBulk = { readonly pushBulk: Speed; readonly takeBulk: Speed }
export type Measured = Singly & InBulk & Partial<Rest>
type Rest = {
  readonly tenants: { readonly pushPerSecond: number; readonly takePerSecond: number }
  readonly idle: {
    readonly requestsPerSecond: number
    readonly cpuMsPerSecond: number
    readonly megabytes: number
  }
}
export type Request = {
  readonly addresses: Addresses
  readonly amounts: Amounts
  /** Its server, whose CPU counts while it idles. */
  readonly serverPid?: number
  readonly turn: number
}

const BULK = 100
const PER_TENANT = 10
/**
 * By then V8 has compiled what runs often. Without the store, our single push takes 0.2 ms of CPU at first and 0.03 from
 * some 1,200 on; our push of 100 takes 2.1 ms at first, 1.0 after twenty, 0.5 after three hundred.
 */
const WARM_UP = { singly: 1500, bulks: 300 }

/** Each is loaded only where it is measured, so that the memory of one holds nothing of another. */
const ours = () => import('./push-pop.ts')
const others = () => import('./others.ts')
const peers: Readonly<Record<string, (addresses: Addresses) => Promise<Peer>>> = {
  'pg-boss': async (addresses) => (await others()).pgBoss(addresses),
  'graphile-worker': async (addresses) => (await others()).graphileWorker(addresses),
  BullMQ: async (addresses) => (await others()).bullmq(addresses),
  PushPop: async (addresses) => (await ours()).pushPopEngine(addresses),
  'PushPop in memory': async (addresses) => (await ours()).pushPopInMemory(addresses),
  'PushPop over HTTP': async (addresses) => (await ours()).pushPopOverHttp(addresses),
}

const BARE = 'bare updates'
export const peerNames: readonly string[] = [...Object.keys(peers), BARE]

async function measureSingly(peer: SinglePeer, items: number, turn: number): Promise<Singly> {
  const item = createItems(turn)
  await pushSingly(peer, `warm-${turn}`, WARM_UP.singly, item)
  await drain(peer, `warm-${turn}`, WARM_UP.singly, 1)

  const push = await pushSingly(peer, `singly-${turn}`, items, item)
  const take = await drain(peer, `singly-${turn}`, items, 1)
  return { push, take }
}

async function measureInBulk(peer: SinglePeer, bulks: number, turn: number): Promise<InBulk> {
  const item = createItems(turn)
  await pushInBulk(peer, `warm-bulk-${turn}`, WARM_UP.bulks, item)
  await drain(peer, `warm-bulk-${turn}`, WARM_UP.bulks * BULK, BULK)

  const pushBulk = await pushInBulk(peer, `bulk-${turn}`, bulks, item)
  const takeBulk = await drain(peer, `bulk-${turn}`, bulks * BULK, BULK)
  return { pushBulk, takeBulk }
}

async function measureRest(
  peer: Peer,
  { tenants, idleSeconds }: Amounts,
  { serverPid, turn }: { serverPid: number | undefined; turn: number },
): Promise<Rest> {
  const item = createItems(turn)
  const names = Array.from({ length: tenants }, (_, n) => `tenant-${turn}-${n}`)
  const perTenant = await serveTenants(peer, names, item)
  const idle = await beIdle(peer, names, { idleSeconds, serverPid })
  return { tenants: perTenant, idle }
}

async function measureBare(
  addresses: Addresses,
  { singly, bulks }: Amounts,
  turn: number,
): Promise<Singly & InBulk> {
  const item = createItems(turn)
  const pushes = (calls: number, each: number) =>
    Array.from({ length: calls }, (_, call) => textsOf(call, each, item))
  const bare = await (await ours()).bareUpdates(addresses, {
    [`warm-${turn}`]: pushes(WARM_UP.singly, 1),
    [`singly-${turn}`]: pushes(singly, 1),
    [`warm-bulk-${turn}`]: pushes(WARM_UP.bulks, BULK),
    [`bulk-${turn}`]: pushes(bulks, BULK),
  })
  const inOnes = await measureSingly(bare, singly, turn)
  const inBulk = await measureInBulk(bare, bulks, turn)
  await bare.stop()
  return { ...inOnes, ...inBulk }
}

type Item = (bytes?: number) => string

/** The number is what order is checked by. */
const numbered = (n: number, item: Item): string => `[${n},${item(200)}]`

/** The texts of one push among others of the same size. */
const textsOf = (call: number, items: number, item: Item): readonly string[] =>
  Array.from({ length: items }, (_, n) => numbered(call * items + n, item))

async function pushSingly(
  peer: SinglePeer,
  queue: string,
  items: number,
  item: Item,
): Promise<Speed> {
  await peer.tidy?.()
  const durationsMs: number[] = []
  for (let n = 0; n < items; n++) {
    const text = numbered(n, item)
    const startMs = performance.now()
    await peer.push(queue, [text])
    durationsMs.push(performance.now() - startMs)
  }
  return speedOf(durationsMs, items)
}

async function pushInBulk(
  peer: SinglePeer,
  queue: string,
  bulks: number,
  item: Item,
): Promise<Speed> {
  await peer.tidy?.()
  const durationsMs: number[] = []
  for (let bulk = 0; bulk < bulks; bulk++) {
    const texts = textsOf(bulk, BULK, item)
    const startMs = performance.now()
    await peer.push(queue, texts)
    durationsMs.push(performance.now() - startMs)
  }
  return speedOf(durationsMs, bulks * BULK)
}

async function drain(
  peer: SinglePeer,
  queue: string,
  items: number,
  batch: number,
): Promise<Speed> {
  await peer.tidy?.()
  const startMs = performance.now()
  const durationsMs = await peer.drain(queue, items, batch, () => {})
  const seconds = (performance.now() - startMs) / 1000
  return { ...speedOf(durationsMs, items), perSecond: items / seconds }
}

function speedOf(durationsMs: readonly number[], items: number): Speed {
  const seconds = durationsMs.reduce((sum, ms) => sum + ms, 0) / 1000
  return {
    perSecond: items / seconds,
    p50Ms: quantile(durationsMs, 0.5),
    p99Ms: quantile(durationsMs, 0.99),
  }
}

async function serveTenants(
  peer: Peer,
  tenants: readonly string[],
  item: Item,
): Promise<Rest['tenants']> {
  const items = tenants.length * PER_TENANT
  await peer.openTenants(tenants)
  const pushedMs = await elapsedMs(() =>
    eachOf(tenants, AT_ONCE, (tenant) =>
      peer.pushTo(
        tenant,
        Array.from({ length: PER_TENANT }, (_, n) => numbered(n, item)),
      ),
    ),
  )
  await peer.tidy?.()
  const order = checkOrder()
  const takenMs = await elapsedMs(() => peer.drainTenants(tenants, items, order.onItem))
  order.done(items)
  return { pushPerSecond: (items * 1000) / pushedMs, takePerSecond: (items * 1000) / takenMs }
}

/** A peer that breaks a tenant's order is not measured as one that keeps it. */
function checkOrder() {
  const next = new Map<string, number>()
  let taken = 0
  const onItem: OnItem = (tenant, text) => {
    const n = Number.parseInt(text.slice(1), 10)
    const due = next.get(tenant) ?? 0
    if (n !== due) throw new Error(`${tenant}: item ${n} came where ${due} was due`)
    next.set(tenant, n + 1)
    taken += 1
  }
  return {
    onItem,
    done(items: number) {
      if (taken !== items) throw new Error(`${taken} of ${items} items came`)
    },
  }
}

async function elapsedMs(action: () => Promise<void>): Promise<number> {
  const startMs = performance.now()
  await action()
  return performance.now() - startMs
}

async function beIdle(
  peer: Peer,
  tenants: readonly string[],
  { idleSeconds, serverPid }: { idleSeconds: number; serverPid: number | undefined },
): Promise<Rest['idle']> {
  await peer.tidy?.()
  const stopWaiting = await peer.wait(tenants)
  await sleep(2000)
  const requests = await peer.requests()
  const cpu = process.cpuUsage()
  const serverMs = cpuMsOf(serverPid)
  await sleep(idleSeconds * 1000)
  const { user, system } = process.cpuUsage(cpu)
  const idle = {
    requestsPerSecond: ((await peer.requests()) - requests) / idleSeconds,
    cpuMsPerSecond: ((user + system) / 1000 + cpuMsOf(serverPid) - serverMs) / idleSeconds,
    megabytes: process.memoryUsage.rss() / 1024 ** 2,
  }
  await stopWaiting()
  return idle
}

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** CPU time of a process and its children, including ended ones, from Linux: 100 ticks a second. */
function cpuMsOf(pid: number | undefined): number {
  if (pid === undefined || process.platform !== 'linux') return 0
  const read = (path: string) => readFileSync(`/proc/${path}`, 'utf8').trim()
  const children = read(`${pid}/task/${pid}/children`).split(' ')
  const ticksOf = (id: string): number => {
    try {
      const [, afterName = ''] = read(`${id}/stat`).split(') ')
      const [user, system, userOfEnded, systemOfEnded] = afterName.split(' ').slice(11).map(Number)
      return [user, system, userOfEnded, systemOfEnded].reduce<number>(
        (sum, n) => sum + (n ?? 0),
        0,
      )
    } catch {
      // It ended just now, and its parent counts it.
      return 0
    }
  }
  return 10 * [String(pid), ...children.filter(Boolean)].reduce((sum, id) => sum + ticksOf(id), 0)
}

async function measure(name: string, request: Request): Promise<Measured> {
  const { addresses, amounts, serverPid, turn } = request
  if (name === BARE) return measureBare(addresses, amounts, turn)
  const open = peers[name]
  if (open === undefined) throw new Error(`There is no peer "${name}"`)
  const peer = await open(addresses)
  const singly = await measureSingly(peer, amounts.singly, turn)
  const inBulk = await measureInBulk(peer, amounts.bulks, turn)
  const rest = await measureRest(peer, amounts, { serverPid, turn })
  await peer.stop()
  return { ...singly, ...inBulk, ...rest }
}

if (import.meta.main) {
  const [, , name = '', json = '{}'] = process.argv
  const measured = await measure(name, JSON.parse(json) as Request)
  process.stdout.write(`${JSON.stringify(measured)}\n`)
  process.exit(0)
}
