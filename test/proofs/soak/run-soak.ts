import { deadLetterQueueOf } from '../../../shared/bounds.ts'
import { startLocalStack } from '../../../testing/index.ts'
import { Random } from '../../../testing/random.ts'
import { type Deliveries, findFaults } from '../../support/deliveries.ts'
import { DeliveryAccounts, namesIn } from '../../support/delivery-account.ts'
import { client, drain, queues, type Soak } from './clients.ts'
import { type FaultProxy, kindsOfFault, startFaultProxy } from './fault-proxy.ts'

type SoakOptions = {
  readonly seconds: number
  readonly clients: number
  readonly seed: number
  /** Kill one of the functions' processes about this often; never unless given. */
  readonly killEveryMs?: number
  /** What it must have been through before it ends; a busy machine may need longer for that. */
  readonly atLeast?: {
    readonly pushed: number
    readonly deliveries?: number
    readonly kills?: number
  }
  readonly onProgress?: (text: string) => void
}

type SoakReport = {
  readonly violations: readonly string[]
  readonly counts: {
    readonly pushed: number
    readonly deliveries: number
    readonly perhaps: number
  }
  readonly statuses: ReadonlyMap<string, number>
  readonly faults: ReadonlyMap<string, number>
  readonly kills: number
  /** Answers in place of a function that was killed; none where nothing was killed. */
  readonly gatewayAnswers: number
}

/** On a busy machine the clients go on for so long until they have met every kind of fault, and done enough. */
const EXTRA_MS_MAX = 60_000

/** The whole service over HTTP, with faults between the functions and their stores. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { seconds, clients, seed, killEveryMs, atLeast, onProgress = () => {} } = options
  const random = new Random(seed)
  const [dynamodb, s3] = (await Promise.all(
    (['dynamodb', 's3'] as const).map((service) => startFaultProxy(service, () => random.next())),
  )) as [FaultProxy, FaultProxy]
  const proxies = [dynamodb, s3]
  onProgress('starting the stack')
  const stack = await startLocalStack({
    port: 0,
    interpose({ dynamodbEndpoint, s3Endpoint }) {
      dynamodb.connect(dynamodbEndpoint)
      s3.connect(s3Endpoint)
      return { dynamodbEndpoint: dynamodb.endpoint, s3Endpoint: s3.endpoint }
    },
  })
  try {
    const soak: Soak = {
      url: stack.url,
      accounts: new DeliveryAccounts(),
      violations: [],
      random,
      gatewayAnswers: { count: 0 },
      statuses: new Map(),
    }
    const endMs = performance.now() + seconds * 1000
    let kills = 0
    const hasMetAll = (): boolean =>
      new Set(proxies.flatMap(({ seen }) => [...seen.keys()])).size === kindsOfFault
    const isEnough = (): boolean => {
      const { pushed, deliveries } = countsOf(soak)
      return (
        pushed >= (atLeast?.pushed ?? 0) &&
        deliveries >= (atLeast?.deliveries ?? 0) &&
        kills >= (atLeast?.kills ?? 0)
      )
    }
    const isOver = (): boolean => {
      const nowMs = performance.now()
      return nowMs >= endMs && (nowMs >= endMs + EXTRA_MS_MAX || (hasMetAll() && isEnough()))
    }
    onProgress(`${clients} clients for ${seconds} s`)
    const onKill = () => {
      kills += 1
    }
    await Promise.all([
      killEveryMs !== undefined && killNowAndThen(stack, random, { killEveryMs, onKill }, isOver),
      ...Array.from({ length: clients }, (_, n) => client(soak, `c${n}`, isOver)),
    ])
    onProgress('draining')
    for (const proxy of proxies) proxy.rest()
    await Promise.all(queues.map((queue) => drain(soak, queue, false)))
    await Promise.all(queues.filter(({ lock }) => lock).map((queue) => drain(soak, queue, true)))
    const found = queues.flatMap(({ id }) => faultsOf(soak, id))
    const faults = new Map<string, number>()
    for (const { seen } of proxies) {
      for (const [fault, count] of seen) faults.set(fault, (faults.get(fault) ?? 0) + count)
    }
    return {
      // A broken service breaks everything: the first few tell what.
      violations: [...soak.violations, ...found].slice(0, 50),
      counts: countsOf(soak),
      statuses: soak.statuses,
      faults,
      kills,
      gatewayAnswers: soak.gatewayAnswers.count,
    }
  } finally {
    await stack.stop()
    await Promise.all(proxies.map((proxy) => proxy.close()))
  }
}

function faultsOf({ accounts }: Soak, queue: string): string[] {
  const account = accounts.of(queue)
  const dead = accounts.of(deadLetterQueueOf(queue))
  const elsewhere = new Set(namesIn(dead))
  const { pushes, pops, acknowledgements, unseen } = account
  const own: Deliveries = { pushes, pops, acknowledgements, unseen, elsewhere: [...elsewhere] }
  // We do not know when, and in what order, items came to the dead-letter queue.
  const buried = pushes.flatMap(({ items, calledAt }) =>
    items.filter(({ name }) => elsewhere.has(name)).map((item) => ({ items: [item], calledAt })),
  )
  const theirs = { pushes: buried, pops: dead.pops, acknowledgements: dead.acknowledgements }
  return [...findFaults(own), ...findFaults(theirs)].map(
    ({ kind, text }) => `${queue}: ${kind}: ${text}`,
  )
}

function countsOf({ accounts }: Soak): SoakReport['counts'] {
  const counts = { pushed: 0, deliveries: 0, perhaps: 0 }
  for (const { id } of queues) {
    const { pushes, pops } = accounts.of(id)
    for (const { items, answeredAt } of pushes) {
      counts[answeredAt === undefined ? 'perhaps' : 'pushed'] += items.length
    }
    counts.deliveries += namesIn({ pops }).length
  }
  return counts
}

async function killNowAndThen(
  stack: { readonly functionPids: () => readonly number[] },
  random: Random,
  { killEveryMs, onKill }: { readonly killEveryMs: number; readonly onKill: () => void },
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    await new Promise((resolve) => setTimeout(resolve, killEveryMs * (0.5 + random.next())))
    const pids = stack.functionPids()
    if (isOver() || pids.length === 0) continue
    process.kill(random.pick(pids), 'SIGKILL')
    onKill()
  }
}
