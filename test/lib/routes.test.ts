import { describe, expect, it } from 'vitest'
import { type Route, routes } from '../../lambdas/http/routes.ts'
import { nameOf } from './rights.ts'
import { type Synthesised, synthesised } from './synthesised.ts'

const planned = routes
const tokens = { auth: 'jwt', issuer: 'https://login.example/', audience: 'queues, others' }

/** `POST /queue/{id}/push → Push`, and what it asks of its caller. */
function routesIn({ ofType, resources }: Synthesised) {
  return new Map(
    ofType('AWS::ApiGatewayV2::Route').map(([, { Properties }]) => {
      const integration = nameOf(Properties.Target).replace('integrations/', '')
      const { IntegrationUri } = resources[integration]?.Properties ?? {}
      const { AuthorizationType, AuthorizationScopes, AuthorizerId } = Properties
      return [
        Properties.RouteKey as string,
        {
          function: IntegrationUri['Fn::GetAtt'][0] as string,
          asks: AuthorizationType as string,
          ...(AuthorizationScopes && { scopes: AuthorizationScopes as string[] }),
          ...(AuthorizerId && { authorizer: nameOf(AuthorizerId) }),
        },
      ]
    }),
  )
}

const expected = (asks: (duty: Route['duty']) => object) =>
  new Map(
    [
      ...planned.map((route): [string, object] => [
        `${route.method} ${route.path}`,
        {
          function: route.function,
          ...(route.duty === undefined ? { asks: 'NONE' } : asks(route.duty)),
        },
      ]),
      ['$default', { function: 'Health', ...asks(undefined) }] as [string, object],
    ].sort(),
  )

const sorted = <K, V>(map: Map<K, V>) => new Map([...map].sort())

describe('Routes', () => {
  it('are those of routes.ts and $default, each to its function, for signed requests.', () => {
    const asks = () => ({ asks: 'AWS_IAM' })
    expect(sorted(routesIn(synthesised()))).toEqual(expected(asks))
  })

  it('ask for a token whose scope names the duty, with auth=jwt.', () => {
    const made = synthesised(tokens)
    const asks = (duty: Route['duty']) => ({
      asks: 'JWT',
      authorizer: 'ApiAuthorizer',
      ...(duty && { scopes: [`pushpop/${duty}`] }),
    })
    expect(sorted(routesIn(made))).toEqual(expected(asks))
    expect(made.resources.ApiAuthorizer?.Properties).toEqual({
      ApiId: { Ref: 'Api' },
      Name: 'tokens',
      AuthorizerType: 'JWT',
      IdentitySource: ['$request.header.Authorization'],
      JwtConfiguration: { Issuer: 'https://login.example/', Audience: ['queues', 'others'] },
    })
  })

  it('ask for nothing with auth=none, which the synth warns of.', () => {
    const made = synthesised({ auth: 'none' })
    expect(sorted(routesIn(made))).toEqual(expected(() => ({ asks: 'NONE' })))
    expect(made.warnings).toContainEqual(expect.stringContaining('auth=none: anybody who finds'))
    expect(synthesised().warnings).toEqual([])
    expect(synthesised(tokens).warnings.join()).not.toContain('anybody')
  })

  it('share one integration a function, which may be called by this API alone.', () => {
    const { ofType } = synthesised()
    const uses = ofType('AWS::ApiGatewayV2::Integration').map(([, { Properties }]) => {
      expect(Properties).toMatchObject({
        IntegrationType: 'AWS_PROXY',
        PayloadFormatVersion: '2.0',
        TimeoutInMillis: 30_000,
      })
      return Properties.IntegrationUri['Fn::GetAtt'][0]
    })
    expect(new Set(uses)).toEqual(new Set(planned.map((route) => route.function)))
    expect(uses).toHaveLength(new Set(uses).size)
  })
})

describe('The stage', () => {
  const { resources } = synthesised()
  const stage = resources.ApiStage?.Properties

  it('logs each call as JSON, without its query, which may hold a lock id.', () => {
    const format = JSON.parse(stage.AccessLogSettings.Format) as Record<string, string>
    expect(format).toMatchObject({ request_id: '$context.requestId', route: '$context.routeKey' })
    expect(Object.values(format).join()).not.toMatch(/query|body|request\.header/i)
    expect(nameOf(stage.AccessLogSettings.DestinationArn)).toBe('ApiAccessLogs')
    expect(resources.ApiAccessLogs?.Properties.RetentionInDays).toBe(30)
  })
})

describe('Pages in a browser', () => {
  it('may not call unless their origin is named.', () => {
    expect(synthesised().resources.Api?.Properties.CorsConfiguration).toBeUndefined()
  })

  it('may where it is, and ask for it without credentials.', () => {
    const made = synthesised({ corsOrigins: 'https://a.example,https://b.example' })
    expect(made.resources.Api?.Properties.CorsConfiguration).toMatchObject({
      AllowOrigins: ['https://a.example', 'https://b.example'],
      AllowMethods: ['GET', 'POST', 'PUT', 'DELETE'],
      AllowHeaders: expect.arrayContaining(['authorization', 'content-type', 'idempotency-key']),
    })
    const open = [...routesIn(made)].filter(([, { asks }]) => asks === 'NONE')
    expect(open.map(([key]) => key)).toEqual(['GET /healthz', 'HEAD /healthz', 'OPTIONS /{proxy+}'])
  })
})
