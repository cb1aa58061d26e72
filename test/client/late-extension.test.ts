import { expect, test, vi } from 'vitest'
import { PushPopError } from '../../client/index.ts'
import { answers, clientOf, hangs, type Reply, useFakeTime } from './scripted.ts'

useFakeTime()

const lock = {
  lock_id: 'AAAAAAAAAAA',
  lock_expires_at: 1709139275.5,
  ttl_seconds: 5,
  more: false,
}
const details = [{ priority: 0, id: 'AAAAAAAA-0-0', pushed_at: 1, deliveries: 1 }]

/** A service with one item, which never answers an extension. */
function withoutExtensions(): Reply {
  let popped = false
  return (asked, signal) => {
    const { pathname } = asked.url
    const answer = (body: object) => answers(200, body)(asked, signal)
    if (pathname.endsWith('/extend-lock')) return hangs(asked, signal)
    if (pathname.endsWith('/queues')) {
      const counts = { locked_count: 0, waiting_count: 0, dead_count: 0, scheduled_count: 0 }
      const queue = { id: 'q', count: popped ? 0 : 1, ...counts, priorities: [] }
      return answer({ queues: [queue], cursor: null })
    }
    if (!pathname.endsWith('/pop')) return answer({ success: true, items_acknowledged: 1 })
    if (popped) return answer({ items: [], count: 0, details: [] })
    popped = true
    return answer({ items: [1], count: 1, details, ...lock })
  }
}

test.each(['consume', 'consumeMany'] as const)(
  'the onError of %s gets an error of the client if an extension is not answered in time',
  async (how) => {
    const { client, queue } = clientOf([withoutExtensions()])
    const errors: unknown[] = []
    const stop = new AbortController()
    const options = {
      lockTtlSeconds: 5,
      signal: stop.signal,
      onError: (failure: object) => void errors.push('error' in failure && failure.error),
    }
    const work = () => new Promise<void>((resolve) => setTimeout(resolve, 4_600))
    const ended =
      how === 'consume'
        ? queue.consume(work, options)
        : client.consumeMany({ queues: ['q'] }, work, options)
    await vi.advanceTimersByTimeAsync(6_000)
    stop.abort()
    await vi.advanceTimersByTimeAsync(1_000)
    await ended
    expect(errors.length).toBeGreaterThan(0)
    for (const error of errors) {
      expect(error).toBeInstanceOf(PushPopError)
      expect(error).toMatchObject({ code: 'TIMEOUT', retryable: true, outcome: 'unknown' })
      expect((error as Error).message).toBe('No answer came within 1000 ms')
    }
  },
)
