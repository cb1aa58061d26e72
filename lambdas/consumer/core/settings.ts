/** How a worker works. */
export type Settings = {
  readonly batchSize: number
  readonly lockTtlSeconds: number
  /** Infinity where only the queue has a limit. */
  readonly deliveriesMax: number
  readonly locks: number
  readonly competing: boolean
}
