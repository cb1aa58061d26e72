import type { LocalStack } from '../start-local-stack.ts'
import { type RoutePlan, SERVICE_ROUTE } from '../template/plan-api.ts'
import type { Paint } from './paint.ts'
import type { Typed } from './start-options.ts'

type BannerSettings = Pick<LocalStack, 'url' | 'urls' | 'plan'> & {
  readonly seconds: number
  readonly typed: Typed
  /** The path as you would type it; absent if the data is temporary. */
  readonly directory?: string | undefined
  /** Another app in this folder, and how to run it. */
  readonly appHere?: string | undefined
}

/** The address, lines to paste, and where the data is; the README has the rest. */
export function banner(
  { url, urls, plan, seconds, typed, directory, appHere }: BannerSettings,
  paint: Paint,
): string {
  const lines = [
    `${paint('bold', `PushPop is at ${url}`)}  ${paint('dim', `(started in ${seconds.toFixed(1)} s)`)}`,
    '',
    ...tryLines(url, plan),
    ...plan.apis
      .slice(1)
      .flatMap(({ name, routes }) => ['', `${name} is at ${urls[name]}`, ...routesOf(routes)]),
    '',
    directory === undefined
      ? 'Data is forgotten at the end.'
      : `Data is kept in ${directory}; ${typed} --memory forgets it.`,
    ...plan.leftOut,
    ...(appHere === undefined ? [] : [appHere]),
    'Ctrl-C ends it.',
  ]
  return `${lines.join('\n')}\n`
}

/** A push, a look and a pop; for another app's API, its routes. */
function tryLines(url: string, { apis }: LocalStack['plan']): readonly string[] {
  const routes = apis[0]?.routes ?? []
  if (!routes.some(({ key }) => key === SERVICE_ROUTE)) return routesOf(routes)
  return [
    `  curl -X POST ${url}/queue/orders/push -H 'content-type: application/json' -d '{"item":{"order":17}}'`,
    `  curl ${url}/queue/orders`,
    `  curl -X POST ${url}/queue/orders/pop`,
  ]
}

const routesOf = (routes: readonly RoutePlan[]): string[] => routes.map(({ key }) => `  ${key}`)
