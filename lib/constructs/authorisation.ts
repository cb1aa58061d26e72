import { CfnAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2'
import type { Construct } from 'constructs'
import type { Duty } from '../../lambdas/http/routes.ts'

/** Who may call the service. No default lets just anybody in. */
export type Authorisation =
  /** Requests signed by AWS credentials (SigV4) that are allowed `execute-api:Invoke` on the route. */
  | { readonly kind: 'iam' }
  /** A token of this issuer for one of these audiences, whose scopes name the duty. */
  | { readonly kind: 'jwt'; readonly issuer: string; readonly audience: readonly string[] }
  /** Anybody who finds the address. */
  | { readonly kind: 'none' }

/** What a route asks of its caller. */
export type Rights = {
  readonly authorizationType: 'AWS_IAM' | 'JWT' | 'NONE'
  readonly authorizerId?: string
  readonly authorizationScopes?: string[]
}

export const open: Rights = { authorizationType: 'NONE' }

/** `pushpop/pop`: what a token must carry for a duty. */
export const scopeOf = (duty: Duty): string => `pushpop/${duty}`

/** What the routes of a duty ask for; without a duty, only that the caller is known. */
export function rightsUnder(
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
