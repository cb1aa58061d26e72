import { CorsHttpMethod, type CorsPreflightOptions } from 'aws-cdk-lib/aws-apigatewayv2'
import { Duration } from 'aws-cdk-lib/core'

/** What pages of these origins may send and see. */
export const corsOf = (origins: readonly string[]): CorsPreflightOptions => ({
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
