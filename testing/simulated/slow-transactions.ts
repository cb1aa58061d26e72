import type { Network } from './simulated-client.ts'
import type { SimulatedStore } from './simulated-store.ts'

/** A network on which each transaction holds its items for a while, as on AWS; nothing else takes time. */
export function slowTransactions(
  store: SimulatedStore,
  sleep: (ms: number) => Promise<void>,
  holdMs: () => number,
): Network {
  return {
    async deliver<T>(request: Parameters<Network['deliver']>[0], apply: () => T): Promise<T> {
      if (request.name !== 'TransactWriteCommand') return apply()
      const finish = store.begin(request)
      await sleep(holdMs())
      return finish() as T
    },
  }
}
