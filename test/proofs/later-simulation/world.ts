import { createQueues, type Queues } from '../../../lambdas/engine/queues.ts'
import { QueueError } from '../../../lambdas/foundation/errors.ts'
import { Random } from '../../../testing/random.ts'
import { settlingTransactions } from '../../../testing/simulated/settling-transactions.ts'
import {
  createSimulatedClient,
  perfectNetwork,
} from '../../../testing/simulated/simulated-client.ts'
import { SimulatedStore } from '../../../testing/simulated/simulated-store.ts'
import { createVirtualTime, type VirtualTime } from '../../../testing/simulated/virtual-time.ts'
import { faultyNetwork } from '../inbox-simulation/faulty-network.ts'
import { Account } from './account/account.ts'
import type { Call, When } from './account/fate.ts'

// One seed's store and clocks, and how somebody comes to an engine of their own.

export const QUEUES = ['q0', 'q1'] as const
const NAMES = { tableName: 'simulated', bucketName: 'simulated' }
const SKEW_MS_MAX = 4_000
/** Longer than any call takes whose process lives. */
const ANSWER_MS_MAX = 60_000

export type World = {
  readonly random: Random
  readonly time: VirtualTime
  readonly store: SimulatedStore
  readonly account: Account
  nowMs(): number
  sleep(ms: number): Promise<void>
  /** With a network that works, and the right time. */
  well(): Process
  /** With a clock that is wrong, in half of the seeds, and a network that works. */
  skewed(): Process
  /** It dies, loses requests and answers, and some of them are carried out late. */
  faulty(): Process
  /** A read may show a part of a transaction just now. */
  isSettling(): boolean
  isOver: boolean
}

export type Process = {
  readonly queues: Queues
  clockMs(): number
  call(): Call
  /** By when its answer came. */
  answered(call: Call): When
}

export function createWorld(seed: number): World {
  const random = new Random(seed)
  const time = createVirtualTime(Date.UTC(2030, 0, 1))
  const nowMs = () => Math.floor(time.nowMs())
  // In half of the seeds others see a transaction item by item.
  const settling = random.chance(0.5) ? random.fork() : undefined
  const settlesAfterMs = settling && (() => settlingMs(settling))
  const store = new SimulatedStore({ ...NAMES, nowMs, settlesAfterMs })
  // Half of the seeds have clocks that agree: then no item is early by a millisecond.
  const skewMsMax = random.chance(0.5) ? 0 : SKEW_MS_MAX
  const account = new Account(nowMs, 2 * skewMsMax)
  const [lost, answerLost, late] = [0.02, 0.04, 0.04].map((most) => most * random.next())
  const faults = { lost: lost as number, answerLost: answerLost as number, late: late as number }

  const process = (skewMs: number, isFaulty: boolean): Process => {
    const own = random.fork()
    const network = isFaulty
      ? faultyNetwork({
          time,
          random: () => own.next(),
          faults,
          isThrottled: () => false,
          diesAt: own.chance(0.4) ? 1 + own.integer(30) : 0,
          onDeath() {},
        })
      : perfectNetwork
    const clients = createSimulatedClient(store, settlingTransactions(store, network, time))
    const { dynamodb, s3 } = clients
    const clockMs = () => nowMs() + skewMs
    const clock = { nowMs: clockMs, sleep: (ms: number) => time.sleep(ms) }
    const engineRandom = own.fork()
    return {
      queues: createQueues({
        ...NAMES,
        clock,
        dynamodb: dynamodb as never,
        s3: s3 as never,
        random: () => engineRandom.next(),
        onBackgroundError() {},
      }),
      clockMs,
      call: () => account.call(clockMs()),
      answered: (call) => ({ call, clockMs: clockMs() }),
    }
  }
  const skew = () => Math.round(skewMsMax * (2 * random.next() - 1))
  return {
    random,
    time,
    store,
    account,
    nowMs,
    sleep: (ms) => time.sleep(ms),
    well: () => process(0, false),
    skewed: () => process(skew(), false),
    faulty: () => process(skew(), true),
    isSettling: () => store.settledAtMs > nowMs(),
    isOver: false,
  }
}

/** Mostly some milliseconds; long where the coordinator of a transaction has died. */
function settlingMs(random: Random): number {
  if (random.chance(0.4)) return 0
  return random.chance(0.05) ? random.integer(5_000) : random.integer(40)
}

export type Answer<T> =
  | { readonly kind: 'answered'; readonly value: T }
  | { readonly kind: 'refused'; readonly error: QueueError }
  /** Nobody knows what came of the call, or its process died. */
  | { readonly kind: 'unknown' }

/** What came of a call; anything that is no refusal is a fault of the engine. */
export async function answerOf<T>({ sleep }: World, asked: Promise<T>): Promise<Answer<T>> {
  const answered = asked.then(
    (value): Answer<T> => ({ kind: 'answered', value }),
    (error: unknown): Answer<T> => {
      if (!(error instanceof QueueError)) throw error
      return error.outcome === 'unknown' ? { kind: 'unknown' } : { kind: 'refused', error }
    },
  )
  const isDead = sleep(ANSWER_MS_MAX).then((): Answer<T> => ({ kind: 'unknown' }))
  return Promise.race([answered, isDead])
}
