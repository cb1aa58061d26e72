import { answer, ok } from './answer.ts'
import { endpoint } from './endpoint.ts'
import type { Pages } from './page.ts'
import * as answers from './schemas/answers.ts'

/**
 * `health` says that requests get here. It asks no store: each check would cost money, and a store that
 * is out of reach for a moment is not a reason to take the service out of use.
 *
 * A browser sends `preflight` before a request from another site's page. The gateway decides and puts
 * its headers on the answer; ours only has to be a success.
 */
export const healthEndpoints = () => ({
  health: endpoint({}, async () => ok({ status: 'ok' })),
  healthHead: endpoint({}, async () => ok('')),
  preflight: endpoint({ unchecked: true }, async () => answer(204, '')),
})

export const healthPages = (): Pages<'health' | 'healthHead'> => ({
  health: {
    tag: 'Service',
    summary: 'Whether the service is up',
    description: 'Open to everybody. Asks no store.',
    answer: answers.healthy,
    errors: [],
  },
  healthHead: {
    tag: 'Service',
    summary: 'Whether the service is up, without a body',
    description: 'Answers as `GET` does.',
    errors: [],
  },
})
