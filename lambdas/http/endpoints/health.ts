import { answer, ok } from '../answer.ts'
import { endpoint } from '../endpoint.ts'

/**
 * `health` says that requests get here. It asks no store: a check a second would be paid for, and a
 * store that is out of reach for a moment is no reason to take the service out of use.
 *
 * `preflight` is what a browser asks before it sends a request from another site's page. The gateway
 * decides and puts its headers on the answer, which must only be a success.
 */
export const healthEndpoints = () => ({
  health: endpoint({}, async () => ok({ status: 'ok' })),
  preflight: endpoint({ unchecked: true }, async () => answer(204, '')),
})
