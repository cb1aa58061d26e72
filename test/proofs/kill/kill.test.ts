// Producers, consumers and a keeper, killed with SIGKILL at random moments and started again, and
// DynamoDB itself a few times. Then we compare what they wrote down: no item whose push was answered
// may be lost, and none that was acknowledged may come again.
//
// PUSHPOP_KILLS makes it longer; PUSHPOP_SEED chooses the same victims, not the same moments.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findDynoxide } from '../../../local/stores/dynoxide-binary.ts'
import { startQueues, type TestQueues } from '../../../testing/index.ts'
import { Random } from '../../../testing/random.ts'
import { type Deliveries, type Finding, findFaults } from '../../support/deliveries.ts'
import { namesIn } from '../../support/delivery-account.ts'
import { nameOf } from '../linearisability/recorder.ts'
import type { CreateQueues } from '../linearisability/worker.ts'
import type { HostMessage } from './dynamodb-host.ts'
import type { KillQueue, ParticipantSetting, Role } from './participant.ts'
import { openJournal, readJournals } from './records.ts'

const seed = Number(process.env.PUSHPOP_SEED ?? Math.floor(Math.random() * 1e6))
const killsMin = Number(process.env.PUSHPOP_KILLS ?? 40)
const engine =
  process.env.PUSHPOP_ENGINE ?? new URL('../../../engine/queues.ts', import.meta.url).href

const DYNAMODB_KILLS = 4
const TTL_SECONDS = 1
const CHARACTERS = 300
/** Most of them should be at work when we kill the next, or the test only measures starting. */
const AT_WORK_MIN = 5
/** Many times what it takes: what is left then counts as lost. */
const DRAIN_MS_MAX = 120_000
/** Several times what they take on a busy machine. */
const TIMEOUT_MS = Math.max(300_000, killsMin * 1_000)

const queues: readonly KillQueue[] = [
  { name: 'exclusive-a', exclusive: true },
  { name: 'exclusive-b', exclusive: true },
  { name: 'competing-a', exclusive: false },
  { name: 'competing-dead', exclusive: false },
]
const exclusive = queues.filter((queue) => queue.exclusive)
const competing = queues.filter((queue) => !queue.exclusive)
const slots: readonly { readonly role: Role; readonly queues: readonly KillQueue[] }[] = [
  { role: 'producer', queues },
  { role: 'producer', queues },
  { role: 'producer', queues },
  { role: 'producer', queues },
  { role: 'consumer', queues: exclusive },
  { role: 'consumer', queues: exclusive },
  { role: 'consumer', queues: competing },
  { role: 'consumer', queues: competing },
  { role: 'keeper', queues },
]

const directory = mkdtempSync(join(tmpdir(), 'pushpop-kill-'))
const journals = join(directory, 'journals')
let embedded: TestQueues
let host: ChildProcess | undefined

beforeAll(async () => {
  mkdirSync(journals)
  const binary = process.env.PUSHPOP_DYNAMODB_ENDPOINT ? undefined : findDynoxide(process)
  if (binary === undefined) {
    embedded = await startQueues()
  } else {
    const port = await freePort()
    const setting = { binary, port, file: join(directory, 'dynamodb.sqlite') }
    host = forkScript(join(import.meta.dirname, 'dynamodb-host.ts'), setting)
    const [message] = (await once(host, 'message')) as [HostMessage]
    expect(message).toBe('listening')
    const PUSHPOP_DYNAMODB_ENDPOINT = `http://127.0.0.1:${port}`
    embedded = await startQueues({ environment: { ...process.env, PUSHPOP_DYNAMODB_ENDPOINT } })
  }
})

afterAll(async () => {
  await embedded?.stop()
  if (host?.connected) {
    const exited = once(host, 'exit')
    host.disconnect()
    await exited
  }
  rmSync(directory, { recursive: true, force: true })
})

test(`nothing is lost and nothing comes again, seed ${seed}`, { timeout: TIMEOUT_MS }, async () => {
  const startedMs = performance.now()
  const { createQueues } = (await import(engine)) as { createQueues: CreateQueues }
  const { tableName, bucketName, dynamodb, s3 } = embedded
  const engineHere = createQueues({ tableName, bucketName, dynamodb, s3 })
  for (const { name } of queues) {
    await engineHere.configure(name, {
      segmentSize: 5,
      bufferSegments: 1,
      ...(name === 'competing-dead' && { maxDeliveries: 2 }),
    })
  }

  const { kills, dynamodbKills } = await killAtRandom()
  const killedMs = performance.now()
  await drain()

  const { accounts, faults, refused } = readJournals(journals)
  const found: string[] = [...faults]
  const totals = { pushed: 0, unanswered: 0, delivered: 0, again: 0, acknowledged: 0, dead: 0 }
  const count: Partial<Record<Finding['kind'], number>> = {}
  for (const { name } of queues) {
    const { pushes, pops, acknowledgements, releases } = accounts.of(name)
    const elsewhere = namesIn(accounts.of(`${name}-deadletter`))
    const deliveries: Deliveries = { pushes, pops, acknowledgements, releases, elsewhere }
    for (const { kind, text } of findFaults(deliveries)) {
      count[kind] = (count[kind] ?? 0) + 1
      found.push(`${name}: ${kind}: ${text}`)
    }
    addTo(totals, deliveries)
  }
  const seconds = (ms: number) => (ms / 1000).toFixed(1)
  console.log(
    `${kills} kills (and ${dynamodbKills} of DynamoDB) in ${seconds(killedMs - startedMs)} s: ` +
      `${totals.pushed} items pushed, ${totals.unanswered} pushed without an answer, ` +
      `${totals.delivered} deliveries, ${totals.again} of them after a return, ` +
      `${totals.acknowledged} items acknowledged, ${totals.dead} dead; ` +
      `lost = ${count.lost ?? 0}, delivered again after acknowledgement = ` +
      `${count['delivered again'] ?? 0}; refused ${JSON.stringify(refused)}; ` +
      `drained in ${seconds(performance.now() - killedMs)} s; seed ${seed}`,
  )
  expect(found).toEqual([])
  expect(kills).toBeGreaterThanOrEqual(killsMin)

  /** Everything that is left, once the locks of the dead have expired. */
  async function drain() {
    const journal = openJournal(join(journals, 'drain'))
    const impatientAt = performance.now() + DRAIN_MS_MAX
    for (const { name, exclusive: isExclusive } of queues) {
      for (;;) {
        await take(name, !isExclusive)
        const finished = (await engineHere.housekeep(name)).finished
        const { count: left, deadCount } = await engineHere.inspect(name, { consistent: true })
        if (left === 0 && deadCount === 0 && finished) break
        // Not an error here: the checks will find what is missing.
        if (performance.now() > impatientAt) break
        await new Promise((resolve) => setTimeout(resolve, 100))
        await engineHere.returnExpiredLocks()
      }
      await take(`${name}-deadletter`, true)
    }

    async function take(queue: string, isCompeting: boolean) {
      for (;;) {
        const call = journal.write({ kind: 'popping', queue })
        const outcome = await engineHere.pop(queue, { count: 100, competing: isCompeting })
        const popped = outcome.kind === 'items' ? outcome.items : []
        const items = popped.map(({ text, deliveries }) => ({
          name: nameOf(text, CHARACTERS),
          deliveries,
        }))
        journal.write({ kind: 'popped', items, acknowledged: false }, call)
        if (items.length === 0) return
      }
    }
  }
})

async function killAtRandom(): Promise<{ kills: number; dynamodbKills: number }> {
  const random = new Random(seed)
  const working = new Map<number, ChildProcess>()
  const all = new Set<ChildProcess>()
  let incarnations = 0
  let stopping = false
  let kills = 0
  let dynamodbKills = 0

  const bundles = await bundled()
  await once(forkParticipant('warm-up', queues), 'exit')

  function forkParticipant(role: Role, of: readonly KillQueue[]): ChildProcess {
    const name = `${role}${incarnations++}`
    const setting: ParticipantSetting = {
      dynamodbEndpoint: embedded.dynamodbEndpoint,
      s3Endpoint: embedded.s3Endpoint,
      credentials: embedded.credentials,
      tableName: embedded.tableName,
      bucketName: embedded.bucketName,
      engine: pathToFileURL(join(bundles, 'engine.mjs')).href,
      role,
      name,
      seed: seed + incarnations,
      journal: join(journals, name),
      queues: of,
      ttlSeconds: TTL_SECONDS,
      characters: CHARACTERS,
    }
    return forkScript(join(bundles, 'participant.mjs'), setting)
  }

  let failed: string | undefined
  function occupy(slot: number) {
    const { role, queues: of } = slots[slot]!
    const child = forkParticipant(role, of)
    all.add(child)
    child.once('message', () => working.set(slot, child))
    child.once('exit', (code, signal) => {
      all.delete(child)
      working.delete(slot)
      if (signal !== 'SIGKILL') failed = `a ${role} ended by itself: ${signal ?? code}`
      if (!stopping) occupy(slot)
    })
  }
  for (const slot of slots.keys()) occupy(slot)

  while (kills < killsMin) {
    await new Promise((resolve) => setTimeout(resolve, 10 + random.next() * 60))
    if (failed !== undefined) throw new Error(`Cannot go on because ${failed}`)
    if (working.size < AT_WORK_MIN) continue
    const [slot, child] = random.pick([...working])
    working.delete(slot)
    child.kill('SIGKILL')
    kills += 1
    if (host && kills % Math.ceil(killsMin / (DYNAMODB_KILLS + 1)) === 0) {
      const listening = once(host, 'message')
      host.send('kill')
      await listening
      dynamodbKills += 1
    }
  }
  stopping = true
  kills += all.size
  await Promise.all(
    [...all].map((child) => {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      return exited
    }),
  )
  return { kills, dynamodbKills }
}

/** As few files as possible, since a participant does little more than start. */
async function bundled(): Promise<string> {
  const outdir = join(directory, 'bundles')
  const participant = join(import.meta.dirname, 'participant.ts')
  await build({
    entryPoints: { participant, engine: fileURLToPath(engine) },
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    // What needs no `require`.
    mainFields: ['module', 'main'],
  })
  return outdir
}

function forkScript(script: string, setting: unknown): ChildProcess {
  return fork(script, [JSON.stringify(setting)], {
    execArgv: [],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Half of a start is compiling.
    env: { ...process.env, NODE_COMPILE_CACHE: join(directory, 'compile-cache') },
  })
}

function addTo(
  totals: Record<'pushed' | 'unanswered' | 'delivered' | 'again' | 'acknowledged' | 'dead', number>,
  { pushes, pops, acknowledgements, elsewhere = [] }: Deliveries,
) {
  for (const { items, answeredAt } of pushes) {
    totals[answeredAt === undefined ? 'unanswered' : 'pushed'] += items.length
  }
  for (const { items } of pops) {
    totals.delivered += items.length
    totals.again += items.filter(({ deliveries }) => deliveries > 1).length
  }
  for (const { names, answeredAt } of acknowledgements) {
    if (answeredAt !== undefined) totals.acknowledged += names.length
  }
  totals.dead += elsewhere.length
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
