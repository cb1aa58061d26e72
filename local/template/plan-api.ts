import { StartError } from '../start-error.ts'
import { isObject } from './assembly.ts'
import { numberOf, objectOf, textOf } from './property-values.ts'
import type { ResolvedResource, Resources } from './resources.ts'

export type ApiPlan = {
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

export function planApi(resources: Resources, leftOut: string[]): ApiPlan | undefined {
  const [api, another] = resources.ofType('AWS::ApiGatewayV2::Api')
  if (!api) return undefined
  if (another) {
    throw new StartError(
      `Cannot run the template because it has more than one HTTP API: ${api.logicalId} and ${another.logicalId}`,
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
  const routes = resources.ofType('AWS::ApiGatewayV2::Route')
  if (routes.some((route) => (route.property('AuthorizationType') ?? 'NONE') !== 'NONE')) {
    leftOut.push('Authorisation is not checked: who reaches the address may call every route.')
  }
  const cors = api.property('CorsConfiguration')
  return {
    id: api.ref,
    routes: routes.map((route) => planRoute(route, resources)),
    ...(isObject(cors) && { cors: planCors(api) }),
  }
}

function planRoute(route: ResolvedResource, resources: Resources): RoutePlan {
  const key = textOf(route, 'RouteKey')
  const target = textOf(route, 'Target').replace('integrations/', '')
  const integration = resources.find('AWS::ApiGatewayV2::Integration', target)
  const uri = integration ? textOf(integration, 'IntegrationUri') : ''
  // The ARN itself, or a path of API Gateway's that contains it.
  const served = resources.ofType('AWS::Lambda::Function').find(({ arn }) => uri.includes(arn))
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
