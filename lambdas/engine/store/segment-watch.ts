import type { Clock } from '../../foundation/dynamo.ts'

/** A segment was written to S3, or one, or a part of a batch, was read from there; or that failed. */
export type SegmentMoved = {
  readonly queue: string
  readonly kind: 'offload' | 'load'
  /** With all repetitions, and until it was unpacked; 0 where S3 did not give what is there. */
  readonly ms: number
  readonly failed: boolean
}

export type SegmentWatch = Readonly<
  Record<SegmentMoved['kind'], <T>(queue: string, work: () => Promise<T>) => Promise<T>>
> & {
  /** So many loads found nothing, although the record says that it is there: those have failed as well. */
  readonly missed: (queue: string, loads: number) => void
}

/** Tells how long what goes to S3 and comes from there takes, and what fails. */
export function watchSegments(clock: Clock, tell: (moved: SegmentMoved) => void): SegmentWatch {
  const watched =
    (kind: SegmentMoved['kind']) =>
    async <T>(queue: string, work: () => Promise<T>): Promise<T> => {
      const startedMs = clock.nowMs()
      const done = (failed: boolean): void =>
        tell({ queue, kind, ms: clock.nowMs() - startedMs, failed })
      try {
        const result = await work()
        // It found nothing. The caller reads the record again, and then knows whether that is a failure.
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
