import { answerTimeoutsMs } from '../foundation/network/answer-timeouts.ts'
import { createRequestHandler } from '../foundation/network/request-handler.ts'
import type { ObjectPort } from '../foundation/objects.ts'

/** S3 as the functions use it: loaded by the first request that needs it. */
export function objectsWhenNeeded(): () => Promise<ObjectPort> {
  let made: Promise<ObjectPort> | undefined
  return () => {
    made ??= import('@aws-sdk/client-s3').then(({ S3Client }) => {
      const requestHandler = createRequestHandler({ answerTimeoutMs: answerTimeoutsMs.s3 })
      return new S3Client({ maxAttempts: 1, requestHandler }) as unknown as ObjectPort
    })
    // If the import failed, the next request that needs it tries again.
    made.catch(() => {
      made = undefined
    })
    return made
  }
}
