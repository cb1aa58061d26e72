import type { Clock } from '../../foundation/dynamo.ts'

/** A segment was written to S3, or one, or a part of a batch, was read from there; or that failed. */
export type SegmentMoved = {
  readonly queue: string
  readonly kind: 'offload' | 'load'
  /** With all repetitions, and until it was unpacked. */
  readonly ms: number
  readonly failed: boolean
}

export type SegmentWatch = Readonly<
  Record<SegmentMoved['kind'], <T>(queue: string, work: () => Promise<T>) => Promise<T>>
>

/** Tells how long what goes to S3 and comes from there takes, and what fails. */
export function watchSegments(clock: Clock, tell: (moved: SegmentMoved) => void): SegmentWatch {
  const watched =
    (kind: SegmentMoved['kind']) =>
    async <T>(queue: string, work: () => Promise<T>): Promise<T> => {
      const startedMs = clock.nowMs()
      let failed = true
      try {
        const result = await work()
        failed = false
        return result
      } finally {
        tell({ queue, kind, ms: clock.nowMs() - startedMs, failed })
      }
    }
  return { offload: watched('offload'), load: watched('load') }
}

export const unwatched: SegmentWatch = {
  offload: (_, work) => work(),
  load: (_, work) => work(),
}
