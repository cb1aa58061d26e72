// HTTP APIs of a template: their routes, the functions behind them, and which pages may call.

import { StartError } from '../start-error.ts'
import { isObject } from './assembly.ts'
import type { ResolvedResource, Resources } from './resources.ts'
import { numberOf, objectOf, textOf } from './resources.ts'

export type ApiPlan = {
  /** The logical id, by which people know it. */
  readonly name: string
  readonly id: string
  readonly routes: readonly RoutePlan[]
  readonly cors?: CorsPlan | undefined
}

export type RoutePlan = {
  /** `POST /queue/{id}/push`, or `$default`. */
  readonly key: string
  readonly functionArn: string
  readonly timeoutMs: number
}

export type CorsPlan = {
  readonly allowOrigins: readonly string[]
  readonly allowMethods: readonly string[]
  readonly allowHeaders: readonly string[]
  readonly exposeHeaders: readonly string[]
  readonly maxAgeSeconds?: number | undefined
  readonly allowCredentials: boolean
}

/** API Gateway's, and its most. */
const TIMEOUT_MS = 30_000

/** The service's own API has this route; it comes first, and so gets the port that was asked for. */
export const SERVICE_ROUTE = 'POST /queue/{id}/push'

/** In the order of the template, the service's own before the others. */
export function planApis(resources: Resources, leftOut: string[]): ApiPlan[] {
  const routes = resources.ofType('AWS::ApiGatewayV2::Route')
  if (routes.some((route) => (route.property('AuthorizationType') ?? 'NONE') !== 'NONE')) {
    leftOut.push(
      'Authorisation is not checked: anybody who reaches the address may call every route.',
    )
  }
  for (const stage of resources.ofType('AWS::ApiGatewayV2::Stage')) {
    const name = textOf(stage, 'StageName')
    if (name !== '$default') {
      throw new StartError(
        `Cannot run the stage ${name} because the local stack has only the stage $default`,
      )
    }
  }
  const apis = resources.ofType('AWS::ApiGatewayV2::Api').map((api) => planApi(api, resources))
  const isService = (api: ApiPlan) => api.routes.some(({ key }) => key === SERVICE_ROUTE)
  return [...apis.filter(isService), ...apis.filter((api) => !isService(api))]
}

function planApi(api: ResolvedResource, resources: Resources): ApiPlan {
  const protocol = api.property('ProtocolType')
  // An API that a document describes has no protocol in the template.
  if (protocol !== 'HTTP') {
    throw new StartError(
      `Cannot run the API ${api.logicalId} because its protocol is ${protocol ?? 'not given'}, and the local stack knows HTTP only`,
    )
  }
  const cors = api.property('CorsConfiguration')
  return {
    name: api.logicalId,
    id: api.ref,
    routes: resources
      .ofType('AWS::ApiGatewayV2::Route')
      .filter((route) => route.property('ApiId') === api.ref)
      .map((route) => planRoute(route, resources)),
    ...(isObject(cors) && { cors: planCors(api) }),
  }
}

function planRoute(route: ResolvedResource, resources: Resources): RoutePlan {
  const key = textOf(route, 'RouteKey')
  const target = textOf(route, 'Target').replace('integrations/', '')
  const integration = resources.find('AWS::ApiGatewayV2::Integration', target)
  const uri = integration ? textOf(integration, 'IntegrationUri') : ''
  // The ARN itself, or a path of API Gateway's that contains it; not the beginning of another one's.
  const served = resources
    .ofType('AWS::Lambda::Function')
    .find(({ arn }) => uri === arn || uri.includes(`/${arn}/`))
  if (!integration || !served) {
    throw new StartError(
      `Cannot run the route ${key} because no function of the template serves it`,
    )
  }
  if (integration.property('PayloadFormatVersion') !== '2.0') {
    throw new StartError(
      `Cannot run the route ${key} because the local stack knows only version 2.0 of the payload`,
    )
  }
  return {
    key,
    functionArn: served.arn,
    timeoutMs: numberOf(integration, 'TimeoutInMillis') ?? TIMEOUT_MS,
  }
}

function planCors(api: ResolvedResource): CorsPlan {
  const cors = objectOf(api, 'CorsConfiguration')
  const list = (name: string): string[] => ((cors[name] ?? []) as unknown[]).map(String)
  return {
    allowOrigins: list('AllowOrigins'),
    allowMethods: list('AllowMethods'),
    allowHeaders: list('AllowHeaders'),
    exposeHeaders: list('ExposeHeaders'),
    ...(cors.MaxAge !== undefined && { maxAgeSeconds: Number(cors.MaxAge) }),
    allowCredentials: cors.AllowCredentials === true || cors.AllowCredentials === 'true',
  }
}
