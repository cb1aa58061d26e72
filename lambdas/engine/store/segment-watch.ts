import type { Clock } from '../../foundation/dynamo.ts'

/** We wrote a segment to S3, or read a segment or a part of a batch from there; or that failed. */
export type SegmentMoved = {
  readonly queue: string
  readonly kind: 'offload' | 'load'
  /** The time with all retries and unpacking; 0 if S3 did not return an object that exists. */
  readonly ms: number
  readonly failed: boolean
}

export type SegmentWatch = Readonly<
  Record<SegmentMoved['kind'], <T>(queue: string, work: () => Promise<T>) => Promise<T>>
> & {
  /** This many loads found nothing, although the record says that the data is there: these count as failures, too. */
  readonly missed: (queue: string, loads: number) => void
}

/** Reports how long writes to S3 and reads from there take, and which of them fail. */
export function watchSegments(clock: Clock, tell: (moved: SegmentMoved) => void): SegmentWatch {
  const watched =
    (kind: SegmentMoved['kind']) =>
    async <T>(queue: string, work: () => Promise<T>): Promise<T> => {
      const startedMs = clock.nowMs()
      const done = (failed: boolean): void =>
        tell({ queue, kind, ms: clock.nowMs() - startedMs, failed })
      try {
        const result = await work()
        // If it found nothing, the caller reads the record again and then knows whether that is a failure.
        if (kind === 'offload' || result !== undefined) done(false)
        return result
      } catch (error) {
        done(true)
        throw error
      }
    }
  return {
    offload: watched('offload'),
    load: watched('load'),
    missed(queue, loads) {
      for (let n = 0; n < loads; n += 1) tell({ queue, kind: 'load', ms: 0, failed: true })
    },
  }
}

export const unwatched: SegmentWatch = {
  offload: (_, work) => work(),
  load: (_, work) => work(),
  missed: () => {},
}
