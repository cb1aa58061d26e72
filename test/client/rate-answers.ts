// The rate limiter's answers, for a service that answers by a script.

import { answers, clientOf, type Reply, refuses } from './scripted.ts'

export const window = { start: 10.001, end: 11.001 }

export const go = answers(200, {
  allowed: true,
  request_id: 'r',
  remaining: 3,
  window,
  waited_ms: 40,
})
export const no = refuses(429, 'RATE_LIMITED', { allowed: false, retry_after_ms: 640 }, 1)
export const throttle = answers(429, { message: 'Too Many Requests' })
export const later = (waitMs: number) =>
  answers(202, {
    allowed: false,
    request_id: 'r',
    ticket: 'a.b',
    not_before: 12.25,
    position: 7,
    retry_after_ms: waitMs,
  })
export const ticket = (state: string, waitMs?: number) =>
  answers(200, { state, not_before: 12.25, good_until: 22.5, retry_after_ms: waitMs })

export function rateOf(...replies: Reply[]) {
  const { asked: requests, ...scripted } = clientOf(replies)
  const asked = () => requests.map(({ method, url }) => `${method} ${url.pathname}${url.search}`)
  return { ...scripted, asked, requests }
}
