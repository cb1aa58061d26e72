// The HTTP API: its routes, who may call them, what pages may send, and what is logged of a call.

import {
  HttpApi as CdkHttpApi,
  CfnAuthorizer,
  CfnIntegration,
  CfnRoute,
  type CfnStage,
  CorsHttpMethod,
  type CorsPreflightOptions,
  HttpStage,
} from 'aws-cdk-lib/aws-apigatewayv2'
import { Grant, type IGrantable, ServicePrincipal } from 'aws-cdk-lib/aws-iam'
import type { IFunction } from 'aws-cdk-lib/aws-lambda'
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs'
import { Annotations, Duration, Stack } from 'aws-cdk-lib/core'
import { Construct } from 'constructs'
import { routes } from '../../lambdas/http/routes.ts'
import type { FunctionName } from '../../lambdas/runtime/names.ts'
import type { Duty } from '../../shared/verbs.ts'
import { acceptFindings, kept } from './every-resource.ts'
import { grantsNothing } from './property-checks.ts'

export type Throttle = { readonly perSecond: number; readonly burst: number }

type HttpApiProps = {
  readonly name: string
  readonly functions: Readonly<Record<FunctionName, IFunction>>
  readonly authorisation: Authorisation
  readonly throttle: Throttle
  readonly corsOrigins: readonly string[]
  readonly logRetention: RetentionDays
  readonly throwaway: boolean
}

/** Longer than any function runs, so that the function answers first; 30 s is the gateway's maximum. */
const INTEGRATION_MS = 30_000

/** The routes of `lambdas/http/routes.ts` and `$default`; each asks who is calling. */
export class HttpApi extends Construct {
  readonly api: CdkHttpApi
  readonly stage: HttpStage
  /** Without a slash at its end. */
  readonly url: string
  readonly #authorisation: Authorisation

  constructor(scope: Construct, id: string, props: HttpApiProps) {
    super(scope, id)
    const { functions, authorisation, corsOrigins } = props
    this.#authorisation = authorisation

    this.api = new CdkHttpApi(this, 'Default', {
      apiName: props.name,
      createDefaultStage: false,
      ...(corsOrigins.length > 0 && { corsPreflight: corsOf(corsOrigins) }),
    })
    this.stage = this.#addStage(props)
    // We do not use `apiEndpoint`, an attribute that not every emulator knows.
    const { region, urlSuffix } = Stack.of(this)
    this.url = `https://${this.api.apiId}.execute-api.${region}.${urlSuffix}`

    const rightsFor = rightsUnder(this, this.api.apiId, authorisation)
    const integrations = new Map<FunctionName, CfnIntegration>()
    const addRoute = (
      id: string,
      routeKey: string,
      name: FunctionName,
      rights: Rights,
    ): CfnRoute => {
      const integration = integrations.get(name) ?? this.#integrate(name, functions[name])
      integrations.set(name, integration)
      return new CfnRoute(this, `${id}Route`, {
        apiId: this.api.apiId,
        routeKey,
        target: `integrations/${integration.ref}`,
        ...rights,
      })
    }
    for (const { method, path, function: name, duty, operationId } of routes) {
      const rights = duty === undefined ? open : rightsFor(duty)
      const route = addRoute(capitalised(operationId), `${method} ${path}`, name, rights)
      if (duty === undefined) {
        acceptFindings(route, {
          'AwsSolutions-APIG4':
            'Says that the service is up, and nothing else; load balancers have no credentials.',
        })
      }
    }
    // A caller without rights learns nothing, not even which routes there are.
    addRoute('Default', '$default', 'Health', rightsFor())
    if (corsOrigins.length > 0) {
      // A browser asks without credentials first, and `$default` would refuse it.
      const route = addRoute('Preflight', 'OPTIONS /{proxy+}', 'Health', open)
      acceptFindings(route, {
        'AwsSolutions-APIG4': 'A browser sends no credentials with its preflight request.',
      })
    }
    if (authorisation.kind === 'none') {
      Annotations.of(this).addWarningV2(
        '@pushpop:unauthorised',
        'auth=none: anybody who finds the address may push, pop and purge. For trying out only.',
      )
    }
  }

  /**
   * The right to call a duty's routes, of these queues (`orders`, `tenant-7.*`) or of all; of the duty
   * `rate`, of these rate limits. A caller who may see some queues may not list all.
   */
  grant(grantee: IGrantable, duty: Duty, ids?: readonly string[]): Grant {
    const { kind } = this.#authorisation
    if (kind === 'jwt') {
      throw new Error(
        `Cannot grant "${duty}" by IAM because this API asks for tokens: ` +
          `have the issuer put the scope "${scopeOf(duty)}" into the caller's`,
      )
    }
    const reason =
      ids === undefined ? undefined : grantsNothing(ids, duty === 'rate' ? 'key' : 'queue')
    if (reason !== undefined) throw new Error(`Cannot grant "${duty}" because ${reason}`)
    const { apiId } = this.api
    const variable = duty === 'rate' ? '{key}' : '{id}'
    const paths = routes
      .filter((route) => route.duty === duty)
      .filter(({ path }) => ids === undefined || path.includes(variable))
      .flatMap(({ method, path }) =>
        (ids ?? ['*']).map((id) => {
          const named = path.replace(variable, id)
          return `${method}${named.replaceAll(/\{\w+\}/g, '*')}`
        }),
      )
    return Grant.addToPrincipal({
      grantee,
      actions: ['execute-api:Invoke'],
      resourceArns: paths.map((path) =>
        Stack.of(this).formatArn({
          service: 'execute-api',
          resource: apiId,
          resourceName: `${this.stage.stageName}/${path}`,
        }),
      ),
    })
  }

  #addStage({ throttle, logRetention, throwaway }: HttpApiProps): HttpStage {
    const logGroup = new LogGroup(this, 'AccessLogs', {
      retention: logRetention,
      removalPolicy: kept(throwaway),
    })
    const stage = new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      // A part of the account's 10,000 a second, which every API in the region shares.
      throttle: { rateLimit: throttle.perSecond, burstLimit: throttle.burst },
    })
    // Older versions of the CDK lack a property of the stage for this.
    const resource = stage.node.defaultChild as CfnStage
    resource.accessLogSettings = {
      destinationArn: logGroup.logGroupArn,
      format: accessLogFormat,
    }
    return stage
  }

  #integrate(name: FunctionName, target: IFunction): CfnIntegration {
    const { apiId } = this.api
    target.addPermission('InvokedByApi', {
      principal: new ServicePrincipal('apigateway.amazonaws.com'),
      sourceArn: Stack.of(this).formatArn({
        service: 'execute-api',
        resource: apiId,
        resourceName: '*/*',
      }),
    })
    acceptFindings(target, {
      'Serverless-LambdaDLQ':
        'Called by the gateway, which waits: a failure is the answer, and no event is left over.',
    })
    return new CfnIntegration(this, `${name}Integration`, {
      apiId,
      integrationType: 'AWS_PROXY',
      integrationUri: target.functionArn,
      payloadFormatVersion: '2.0',
      timeoutInMillis: INTEGRATION_MS,
    })
  }
}

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Who may call the service. No default lets just anybody in. */
export type Authorisation =
  /** Requests signed by AWS credentials (SigV4) that are allowed `execute-api:Invoke` on the route. */
  | { readonly kind: 'iam' }
  /** A token of this issuer for one of these audiences, whose scopes name the duty. */
  | { readonly kind: 'jwt'; readonly issuer: string; readonly audience: readonly string[] }
  /** Anybody who finds the address. */
  | { readonly kind: 'none' }

/** What a route asks of its caller. */
type Rights = {
  readonly authorizationType: 'AWS_IAM' | 'JWT' | 'NONE'
  readonly authorizerId?: string
  readonly authorizationScopes?: string[]
}

const open: Rights = { authorizationType: 'NONE' }

/** `pushpop/pop`: what a token must carry for a duty. */
const scopeOf = (duty: Duty): string => `pushpop/${duty}`

/** What the routes of a duty ask for; without a duty, only that the caller is known. */
function rightsUnder(
  scope: Construct,
  apiId: string,
  authorisation: Authorisation,
): (duty?: Duty) => Rights {
  switch (authorisation.kind) {
    case 'iam':
      return () => ({ authorizationType: 'AWS_IAM' })
    case 'jwt': {
      const authorizer = new CfnAuthorizer(scope, 'Authorizer', {
        apiId,
        name: 'tokens',
        authorizerType: 'JWT',
        identitySource: ['$request.header.Authorization'],
        jwtConfiguration: {
          issuer: authorisation.issuer,
          audience: [...authorisation.audience],
        },
      })
      return (duty) => ({
        authorizationType: 'JWT',
        authorizerId: authorizer.ref,
        ...(duty !== undefined && { authorizationScopes: [scopeOf(duty)] }),
      })
    }
    case 'none':
      return () => open
  }
}

/** What pages of these origins may send and see. */
const corsOf = (origins: readonly string[]): CorsPreflightOptions => ({
  allowOrigins: [...origins],
  allowMethods: [
    CorsHttpMethod.GET,
    CorsHttpMethod.POST,
    CorsHttpMethod.PUT,
    CorsHttpMethod.DELETE,
  ],
  allowHeaders: [
    'authorization',
    'content-type',
    'idempotency-key',
    'if-match',
    'prefer',
    // Signed requests, and the hyphenated spelling of what a pop takes as parameters.
    'x-amz-content-sha256',
    'x-amz-date',
    'x-amz-security-token',
    'acknowledge',
    'allow-competing-consumers',
    'count',
    'require-ack',
    'ttl-seconds',
  ],
  exposeHeaders: [
    'etag',
    'idempotency-replayed',
    'preference-applied',
    'ratelimit',
    'ratelimit-policy',
    'retry-after',
    'x-request-id',
  ],
  maxAge: Duration.hours(1),
})

/** We log no query string, because it may contain a lock id. The path has a queue's id, which is not a secret. */
const fields = {
  request_id: '$context.requestId',
  time: '$context.requestTime',
  ip: '$context.identity.sourceIp',
  user_agent: '$context.identity.userAgent',
  caller: '$context.identity.userArn',
  subject: '$context.authorizer.claims.sub',
  method: '$context.httpMethod',
  path: '$context.path',
  route: '$context.routeKey',
  status: '$context.status',
  response_bytes: '$context.responseLength',
  latency_ms: '$context.responseLatency',
  integration_latency_ms: '$context.integrationLatency',
  integration_error: '$context.integrationErrorMessage',
  authorizer_error: '$context.authorizer.error',
}

/** JSON, so that Logs Insights finds the fields by itself. */
const accessLogFormat = JSON.stringify(fields)
