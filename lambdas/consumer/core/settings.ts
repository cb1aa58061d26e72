import type { Retry } from './run.ts'

/** Whether other items go on while failed ones wait. */
export const passesBy = ({ competing, retry }: Settings): boolean => competing || retry.overtake

/** How a worker works. */
export type Settings = {
  readonly batchSize: number
  readonly lockTtlSeconds: number
  /** Infinity if only the queue's own limit applies. */
  readonly deliveriesMax: number
  readonly retry: Retry
  readonly locks: number
  readonly competing: boolean
}
