import { CHECK_INDEX } from '../../../lambdas/foundation/table.ts'
import type { Random } from '../../../testing/random.ts'
import type { Network } from '../../../testing/simulated/simulated-client.ts'
import type {
  SimulatedRequest,
  SimulatedStore,
} from '../../../testing/simulated/simulated-store.ts'
import type { VirtualTime } from '../../../testing/simulated/virtual-time.ts'

const HOLD_MS_MAX = 20

/** Harsher than the store itself: transactions hold their items for a while, and the index tells old news. */
export function harsh(
  inner: Network,
  {
    store,
    time,
    random,
    stale,
  }: {
    readonly store: SimulatedStore
    readonly time: VirtualTime
    readonly random: Random
    readonly stale: number
  },
): Network {
  const told = new Map<string, unknown>()
  const hold = (request: SimulatedRequest): Promise<unknown> => {
    const finish = store.begin(request)
    const finished = time.sleep(HOLD_MS_MAX * random.next()).then(finish)
    // Its sender may be dead, or have given up.
    finished.catch(() => {})
    return finished
  }
  return {
    async deliver<T>(request: SimulatedRequest, apply: () => T): Promise<T> {
      if (request.name === 'TransactWriteCommand' && random.chance(0.5)) {
        return inner.deliver(request, () => hold(request) as T)
      }
      const { input } = request as { readonly input: { readonly IndexName?: string } }
      if (input.IndexName !== CHECK_INDEX) return inner.deliver(request, apply)
      const shard = JSON.stringify(
        (input as { ExpressionAttributeValues?: Record<string, unknown> })
          .ExpressionAttributeValues?.[':s'],
      )
      const answer = await inner.deliver(request, apply)
      const old = told.get(shard)
      told.set(shard, answer)
      return (old !== undefined && random.chance(stale) ? old : answer) as T
    },
  }
}
