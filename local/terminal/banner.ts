import type { LocalStack } from '../start-local-stack.ts'
import type { StoreEndpoints } from '../stores/store-environment.ts'
import { isObject } from '../template/assembly.ts'
import { type RoutePlan, SERVICE_ROUTE } from '../template/plan-api.ts'
import type { EventRulePlan } from '../template/plan-events.ts'
import type { Paint } from './paint.ts'
import type { Typed } from './start-options.ts'

type BannerSettings = Pick<LocalStack, 'url' | 'urls' | 'plan'> & {
  readonly seconds: number
  readonly typed: Typed
  /** The path as you would type it; absent if the data is temporary. */
  readonly directory?: string | undefined
  /** Stores that somebody else has started. */
  readonly elsewhere: Partial<StoreEndpoints>
  /** Another app in this folder, and how to run it. */
  readonly appHere?: string | undefined
  /** As typed. */
  readonly envFile?: string | undefined
}

/** The address, lines to paste, and where the data is; the README has the rest. */
export function banner(
  { url, urls, plan, seconds, typed, directory, elsewhere, appHere, envFile }: BannerSettings,
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
    whereDataIs({ directory, typed, elsewhere }),
    ...(envFile === undefined
      ? []
      : [
          `${envFile} says where the table and the bucket are: \`. ${sourced(envFile)}\` in a shell.`,
        ]),
    ...plan.leftOut,
    ...(appHere === undefined ? [] : [appHere]),
    'Ctrl-C ends it.',
  ]
  return `${lines.join('\n')}\n`
}

function whereDataIs({
  directory,
  typed,
  elsewhere: { dynamodbEndpoint: tables, s3Endpoint: objects },
}: Pick<BannerSettings, 'directory' | 'typed' | 'elsewhere'>): string {
  const there = [
    ...(tables ? [`tables at ${tables}`] : []),
    ...(objects ? [`objects at ${objects}`] : []),
  ]
  if (there.length === 0) {
    return directory === undefined
      ? 'Data is forgotten at the end.'
      : `Data is kept in ${directory}; ${typed} --memory forgets it.`
  }
  if (directory === undefined) {
    return `Data is forgotten at the end: that includes the ${there.join(' and the ')}.`
  }
  const here = [...(tables ? [] : ['tables']), ...(objects ? [] : ['objects']), 'messages']
  return (
    `${here.join(' and ').replace(/^./, (first) => first.toUpperCase())} are kept in ${directory}, ` +
    `the ${there.join(' and the ')} as long as they last there; they belong together.`
  )
}

/** A shell looks for a bare name among its commands. */
const sourced = (file: string): string => (file.includes('/') ? file : `./${file}`)

/** A push, a look and a pop; for another app's API, its routes. */
function tryLines(url: string, { apis, eventRules }: LocalStack['plan']): readonly string[] {
  const routes = apis[0]?.routes ?? []
  if (!routes.some(({ key }) => key === SERVICE_ROUTE)) return routesOf(routes)
  const worked = workedQueue(eventRules)
  const queue = `${url}/queue/${encodeURIComponent(worked ?? 'orders')}`
  // We do not know what a consumer takes: with any item of ours its first run might fail.
  const item = worked === undefined ? '{"order":17}' : 'ITEM'
  return [
    `  curl -X POST ${queue}/push -H 'content-type: application/json' -d '{"item":${item}}'`,
    ...(worked === undefined ? [] : ['  (for ITEM, write one that your consumer understands)']),
    `  curl ${queue}`,
    `  curl -X POST ${queue}/pop`,
  ]
}

/** One that a consumer of the app works: what is pushed there shows that it does. */
function workedQueue(rules: readonly EventRulePlan[]): string | undefined {
  for (const { detail } of rules.map(({ pattern }) => pattern)) {
    const matchers = isObject(detail) && Array.isArray(detail.queue) ? detail.queue : []
    for (const matcher of matchers) {
      if (typeof matcher === 'string') return matcher
      if (isObject(matcher) && typeof matcher.prefix === 'string') return `${matcher.prefix}1`
    }
  }
  return undefined
}

const routesOf = (routes: readonly RoutePlan[]): string[] => routes.map(({ key }) => `  ${key}`)
