// The HTTP APIs of a template, each on its own port. The first gets the requested port, before we know about the
// others: a port that is taken is the most likely problem. The others get the ports after it.

import type { ApiPlan } from '../template/plan-api.ts'
import { type Gateway, type Service, startGateway } from './gateway.ts'

export type Gateways = {
  /** The address of the first API. */
  readonly url: string
  /** Listens for the others as well. Requests wait for `open`. */
  add(apis: readonly ApiPlan[]): Promise<void>
  /** The addresses of all APIs, by logical id. */
  readonly urls: Readonly<Record<string, string>>
  open(service: Omit<Service, 'api'>): void
  close(graceMs: number): Promise<void>
}

/** Then every request is a 404. */
const NO_API: ApiPlan = { name: 'none', id: 'none', routes: [] }

export async function startGateways(port: number): Promise<Gateways> {
  const first = await startGateway(port)
  const gateways: Gateway[] = [first]
  let apis: readonly ApiPlan[] = []
  const gatewayOf = (index: number) => gateways[index] as Gateway
  return {
    url: urlOf(first),
    async add(all) {
      apis = all
      for (const [index, { name }] of all.entries()) {
        if (index === 0) continue
        gateways.push(await startGateway(port === 0 ? 0 : first.port + index, name))
      }
    },
    get urls() {
      return Object.fromEntries(apis.map(({ name }, index) => [name, urlOf(gatewayOf(index))]))
    },
    open(service) {
      for (const [index, gateway] of gateways.entries()) {
        gateway.open({ ...service, api: apis[index] ?? NO_API })
      }
    },
    async close(graceMs) {
      await Promise.all(gateways.map((gateway) => gateway.close(graceMs)))
    },
  }
}

const urlOf = ({ port }: Gateway): string => `http://localhost:${port}`
